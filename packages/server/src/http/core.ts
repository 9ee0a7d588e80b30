import { systemClock } from '@ratepact/contract'
import type { ConsumeOptions } from '../call.js'
import { expectCost } from '../cost.js'
import type { Decision } from '../decision.js'
import { createLimiter, type Limiter } from '../limiter.js'
import { PartitionError } from '../partition.js'
import { createAttempt } from './attempt.js'
import { giveBackEarlier, noteCharged } from './charged.js'
import { type Denial, type Denied, denialOf } from './denial.js'
import { textOf } from './error.js'
import { exposeFields, type Head, statesLimits } from './head.js'
import { createHolder, type Stay } from './hold.js'
import { INSTANCE, instanceIn } from './instance.js'
import { type AnyHttpOptions, expectHttpOptions, type HeaderOptions, OF_LIMITER } from './options.js'
import { allOf, createPartition, isPlanned } from './partition.js'
import { createStatements, type Statements } from './statement.js'
import { createWarn } from './warn.js'

/** What an adapter finds out about a request, each only if it is asked. */
export interface Seen {
  readonly address: () => string | undefined
  /** Method and route pattern. */
  readonly scope: () => string
  /** A field of the request, by its name in lower case. */
  readonly header: (name: string) => string | string[] | null | undefined
  /** What all limiters of this request are handed alike: its answer, or the request itself. */
  readonly shared: object
}

/** What every adapter does, whatever its framework: a request becomes a decision, a decision becomes an answer. */
export interface Gate<Args extends readonly unknown[]> {
  /**
   * Asks the limiter about a request. An admitted one is held where a policy asks for it, and its places are kept until
   * its stay ends; of a call whose end is not told, for as long as they last by themselves.
   * @returns undefined for a request that is not to be counted; `gone` when its client has gone while it was held
   * @throws whatever the user's functions throw, and what the limiter says of their results
   */
  decide(args: Args, seen: Seen, stay?: () => Stay): Promise<Decision | undefined | 'gone'>
  /** What a decision has to say in the head of the answer; undefined when that is nothing. */
  statement(decision: Decision, seen: Seen): Statement | undefined
  denial(decision: Denied): Denial
}

/** Writes into the head of an answer, once its status is known. */
export type Statement = (status: number, head: Head) => void

/**
 * Makes the gate from an adapter's options, the limiter too where policies are given.
 * @throws TypeError or RangeError naming the option, the value and the rule
 */
export function createGate<Args extends readonly unknown[]>(adapter: string, given: unknown): Gate<Args> {
  expectHttpOptions(adapter, given)
  const options: AnyHttpOptions = given
  const limiter = limiterOf(options)
  const { onStoreFailure, cost, scope, headers = {} } = options
  if (typeof cost !== 'function') expectCost(cost, allOf(limiter))
  const warn = createWarn(options.onWarning)
  const partitionOf = createPartition(adapter, options, limiter, warn)
  const perScope = allOf(limiter).some((policy) => policy.perScope)
  const hints = headers !== false && headers.hints !== false
  const planned = isPlanned(options, limiter)
  const statementsOf = createStatementsByPlan(limiter, headers)
  const exposedBy = (statements: Statements | undefined) => [
    ...(statements?.names ?? []),
    'Retry-After',
    ...(hints ? ['retry-after-ms'] : []),
  ]
  // Timestamps are counted from before the limiter was asked, however long the handler takes.
  const askedAtMs = headers !== false && headers.legacy ? new WeakMap<Decision, number>() : undefined
  const attempt = createAttempt(adapter, limiter, warn)
  const holder = createHolder({ limiter, attempt, clock: options.clock ?? systemClock })

  async function ask(args: Args, seen: Seen): Promise<Decision | undefined> {
    if (options.skip !== undefined && (await options.skip(...args))) return undefined
    const partition = await partitionOf(args, seen.address)
    if (partition === undefined) return undefined
    const call: { -readonly [K in keyof ConsumeOptions]: ConsumeOptions[K] } = {}
    const units = typeof cost === 'function' ? await cost(...args) : cost
    if (units !== undefined) call.cost = units
    if (perScope) call.scope = typeof scope === 'function' ? await scope(...args) : (scope ?? seen.scope())
    const instance = limiter.countsInstances ? instanceIn(seen.header(INSTANCE)) : undefined
    if (instance !== undefined) call.instance = instance
    if (onStoreFailure !== undefined) call.onStoreFailure = onStoreFailure
    const { plan } = options
    if (plan !== undefined) call.plan = typeof plan === 'function' ? async () => plan(...args) : plan
    const atMs = Date.now()
    try {
      const decision = await limiter.consume(partition.value as never, call)
      askedAtMs?.set(decision, atMs)
      return decision
    } catch (error) {
      if (planned && options.missingPartition === 'skip' && error instanceof PartitionError) return undefined
      throw error
    }
  }

  return {
    async decide(args, seen, stay) {
      const asked = await ask(args, seen)
      const held = holder !== undefined && asked?.outcome === 'admitted'
      const decision = held ? ((await holder.hold(asked, stay?.())) ?? 'gone') : asked
      if (decision === undefined) return undefined
      // What does not run is charged nowhere.
      if (decision === 'gone' || !decision.allowed) giveBackEarlier(seen.shared)
      else if (decision.outcome === 'admitted') noteCharged(seen.shared, () => attempt('refund', decision))
      return decision
    },
    statement(decision, seen) {
      const limits = 'limits' in decision ? decision.limits : []
      const stating = limits.length > 0 ? statementsOf(decision.plan) : undefined
      if (stating === undefined && decision.allowed) return undefined
      const atMs = askedAtMs?.get(decision) ?? Date.now()
      const crossOrigin = isPresent(seen.header('origin'))
      return (status, head) => {
        if (!statesLimits(status)) return
        try {
          const stated = stating?.write(head, limits, atMs) ?? false
          if (crossOrigin && (stated || !decision.allowed))
            exposeFields(head, exposedBy(stating ?? statementsOf(decision.plan)))
        } catch (error) {
          // Some wrapped method of the response. Whoever answers must not fail for what we have to say.
          warn('statement', `${adapter} could not state the limits on an answer: ${textOf(error)}`)
        }
      }
    },
    denial: (decision) => denialOf(decision, hints),
  }
}

function isPresent(field: ReturnType<Seen['header']>): boolean {
  return field !== undefined && field !== null
}

/** What states the limits of a plan; each is made when it is first needed. */
function createStatementsByPlan(
  limiter: Limiter,
  headers: false | HeaderOptions,
): (plan: string | undefined) => Statements | undefined {
  if (headers === false) return () => undefined
  const made = new Map<string | undefined, Statements>()
  return (plan) => {
    let statements = made.get(plan)
    if (statements === undefined) {
      statements = createStatements(plan === undefined ? limiter.policies : limiter.policiesOf(plan), headers)
      made.set(plan, statements)
    }
    return statements
  }
}

function limiterOf(options: AnyHttpOptions): Limiter {
  if (options.limiter !== undefined) return options.limiter
  const given = Object.entries(options).filter(
    ([name, value]) => OF_LIMITER.includes(name) && value !== undefined,
  )
  return createLimiter(Object.fromEntries(given) as never) as Limiter
}
