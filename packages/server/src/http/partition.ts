import type { Limiter } from '../limiter.js'
import { kindsOf, type PartitionInput } from '../partition.js'
import type { Policy } from '../policy.js'
import type { AnyHttpOptions } from './options.js'
import type { Warn } from './warn.js'

/** Who is calling; undefined when the call is not to be counted. */
type Found = Caller | undefined

/** A class, since there is one for each call: see `listOf`. */
class Caller {
  readonly value: PartitionInput

  constructor(value: PartitionInput) {
    this.value = value
  }
}

/** Finds who is calling; undefined when the call is not to be counted. What is still missing the limiter refuses. */
export function createPartition<Seen>(
  adapter: string,
  options: AnyHttpOptions,
  limiter: Limiter,
  warn: Warn,
  addressOf: (seen: Seen) => string | undefined,
  watch: (seen: Seen, given: unknown) => void,
): (args: readonly unknown[], seen: Seen) => Found | Promise<Found> {
  const { partition, missingPartition = 'address' } = options
  const kinds = kindsOf(allOf(limiter))
  const planned = isPlanned(options, limiter)
  const others = kinds.filter((kind) => kind !== 'client')
  const byClient = others.length === 0 && kinds.length === 1
  if (partition === undefined && others.length > 0)
    throw new TypeError(
      `Expected partition to be given to ${adapter}: its policies count by "${others.join('" and "')}"`,
    )

  function warnOf(missing: readonly string[]): void {
    if (options.missingPartition !== undefined) return
    warn(
      'missing partition',
      `${adapter}: partition gave no value for "${missing.join('" and "')}", so the client's address is counted ` +
        "instead. Set missingPartition to 'address' if that is meant, else to 'reject' or 'skip'.",
    )
  }

  function find(given: PartitionInput, seen: Seen): Found {
    const plain = byClient && typeof given === 'string' && given !== ''
    const record = plain ? undefined : recordOf(given)
    if (partition !== undefined) watch(seen, record ?? given)
    if (record === undefined) return new Caller(given)
    const missing = kinds.filter((kind) => isMissing(Object.hasOwn(record, kind) ? record[kind] : undefined))
    if (missing.length === 0) return new Caller(record)
    // Which kinds a plan counts is known to the limiter, which refuses what is missing then.
    if (missingPartition === 'skip') return planned ? new Caller(record) : undefined
    const address = missingPartition === 'address' ? addressOf(seen) : undefined
    if (address === undefined) return new Caller(record)
    warnOf(missing)
    return new Caller({ ...record, ...Object.fromEntries(missing.map((kind) => [kind, address])) })
  }

  return (args, seen) => {
    if (partition === undefined) return find(addressOf(seen), seen)
    const given = partition(...args)
    // A turn of its own only where somebody may have to be waited for.
    if (typeof given === 'string' || given === undefined) return find(given, seen)
    return Promise.resolve(given).then((found) => find(found, seen))
  }
}

/** All that count, those that are only tried too. A limiter of the user's making may have none of these. */
export function allOf({
  policies,
  tried = [],
}: Pick<Limiter, 'policies'> & Partial<Pick<Limiter, 'tried'>>): readonly Policy[] {
  return [...policies, ...tried]
}

/** Whether what a call must say of itself depends on its plan. */
export function isPlanned(options: AnyHttpOptions, limiter: Limiter): boolean {
  return options.plan !== undefined || limiter.policies.length !== policiesWithoutPlan(limiter)
}

function policiesWithoutPlan(limiter: Limiter): number | undefined {
  try {
    return limiter.policiesOf().length
  } catch {
    return undefined
  }
}

/** A result as a record by kind, read once so that what is checked is what counts; undefined for what is no partition at all, which the limiter refuses by name. */
function recordOf(given: unknown): Readonly<Record<string, string | undefined>> | undefined {
  if (typeof given === 'string') return { client: given }
  if (isMissing(given)) return {}
  return typeof given === 'object' && !Array.isArray(given)
    ? { ...(given as Readonly<Record<string, string | undefined>>) }
    : undefined
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}
