import { type ConsumeOptions, NO_OPTIONS } from '../call.js'
import { expectCost } from '../cost.js'
import type { Blocked, Decision } from '../decision.js'
import type { Limiter } from '../limiter.js'
import { PartitionError, type PartitionInput } from '../partition.js'
import type { Draft } from '../plain.js'
import { addressOf, clientAddress } from './address.js'
import { createAddressList } from './address-list.js'
import { createAddressWatch } from './address-watch.js'
import type { Seen } from './core.js'
import { INSTANCE, instanceIn } from './instance.js'
import type { AnyHttpOptions } from './options.js'
import { allOf, createPartition, isPlanned } from './partition.js'
import type { createPartitionKeys, PartitionKeys } from './partition-keys.js'
import { expectPlan } from './plan.js'
import type { Warn } from './warn.js'

/** What a request is asked about by, all but the request itself. */
export interface AskFrom {
  readonly adapter: string
  readonly options: AnyHttpOptions
  readonly limiter: Limiter
  readonly warn: Warn
  /** Where it is noted what the statement of a decision needs besides. */
  readonly notes: WeakMap<Decision, Note> | undefined
  readonly keysOf: ReturnType<typeof createPartitionKeys> | undefined
}

/** What is noted of a decision. */
export interface Note {
  /** When the limiter was asked, in milliseconds since 1970: timestamps count from then, however long the handler takes. */
  readonly atMs: number
  readonly keys?: PartitionKeys
}

/** Nothing for a request that is not to be counted. */
type Asked = Decision | undefined

/** The answer to an address in `deny`. */
const DENIED: Blocked = Object.freeze({ outcome: 'blocked', allowed: false, source: 'none', shadow: [] })

/**
 * Asks a limiter about requests, each as the user's options say.
 * @returns undefined for a request that is not to be counted
 */
export function createAsk<Args extends readonly unknown[]>({
  adapter,
  options,
  limiter,
  warn,
  notes,
  keysOf,
}: AskFrom): (args: Args, seen: Seen) => Asked | Promise<Asked> {
  const { cost, scope, plan, onStoreFailure, allow = [], deny = [] } = options
  expectPlan(options, limiter)
  if (typeof cost !== 'function') expectCost(cost, allOf(limiter))
  const watch = createAddressWatch(adapter, warn)
  const addressFor = (seen: Seen) => {
    const address = clientAddress(seen.from)
    watch.counted(seen, address)
    return address
  }
  const partitionOf = createPartition<Seen>(adapter, options, limiter, warn, addressFor, watch.given)
  // Metrics are told what is called, whether or not anything is counted by it.
  const scoped = limiter.tellsDecisions || allOf(limiter).some((policy) => policy.perScope)
  const planned = isPlanned(options, limiter)
  const isAllowed = createAddressList('allow', allow)
  const isDenied = createAddressList('deny', deny)
  const listed = allow.length + deny.length > 0

  /** What `consume` is told, the partition apart. */
  async function callOf(args: Args, seen: Seen): Promise<ConsumeOptions> {
    const call: Draft<ConsumeOptions> = {}
    const units = typeof cost === 'function' ? await cost(...args) : cost
    if (units !== undefined) call.cost = units
    if (scoped) call.scope = (typeof scope === 'function' ? await scope(...args) : scope) ?? seen.scope()
    const instance = limiter.countsInstances ? instanceIn(seen.header(INSTANCE)) : undefined
    if (instance !== undefined) call.instance = instance
    if (onStoreFailure !== undefined) call.onStoreFailure = onStoreFailure
    if (plan !== undefined) call.plan = typeof plan === 'function' ? async () => plan(...args) : plan
    return call
  }
  /** The same where there is nothing to be told. */
  const plain =
    cost === undefined &&
    plan === undefined &&
    onStoreFailure === undefined &&
    !scoped &&
    !limiter.countsInstances

  async function keysFor(
    decision: Decision,
    partition: PartitionInput,
    { scope }: ConsumeOptions,
  ): Promise<Pick<Note, 'keys'>> {
    if (keysOf === undefined || !('limits' in decision)) return {}
    const policies = decision.plan === undefined ? limiter.policies : limiter.policiesOf(decision.plan)
    return { keys: await keysOf(policies, partition, scope) }
  }

  async function askFully(args: Args, seen: Seen, preflight: boolean): Promise<Asked> {
    const address = listed ? addressOf(seen.from) : undefined
    const denied = listed && isDenied(address)
    if (preflight && !denied) return undefined
    if (options.skip !== undefined && (await options.skip(...args))) return undefined
    if (listed) watch.listed(seen)
    if (denied) return { ...DENIED }
    if (listed && isAllowed(address)) return undefined
    const found = partitionOf(args, seen)
    const partition = found instanceof Promise ? await found : found
    if (partition === undefined) return undefined
    const call = plain ? NO_OPTIONS : await callOf(args, seen)
    const atMs = Date.now()
    try {
      const decision = await limiter.consume(partition.value as never, call)
      if (notes !== undefined)
        notes.set(decision, { atMs, ...(await keysFor(decision, partition.value, call)) })
      return decision
    } catch (error) {
      if (planned && options.missingPartition === 'skip' && error instanceof PartitionError) return undefined
      throw error
    }
  }

  // Where nothing but `partition` has a say there is nobody to wait for but the limiter, and each wait costs.
  const direct = plain && !listed && options.skip === undefined && notes === undefined && !planned
  const askFor = (found: { readonly value: PartitionInput } | undefined): Asked | Promise<Asked> =>
    found === undefined ? undefined : limiter.consume(found.value as never)

  return (args, seen) => {
    const preflight = options.preflights !== true && isPreflight(seen)
    if (preflight && deny.length === 0) return undefined
    if (!direct) return askFully(args, seen, preflight)
    const found = partitionOf(args, seen)
    return found instanceof Promise ? found.then(askFor) : askFor(found)
  }
}

/** A browser's question whether a page of another origin may send what it wants to send. */
function isPreflight(seen: Seen): boolean {
  return (
    seen.method === 'OPTIONS' &&
    typeof seen.header('access-control-request-method') === 'string' &&
    typeof seen.header('origin') === 'string'
  )
}
