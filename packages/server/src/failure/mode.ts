import { expected, expectOnly } from '../expect.js'

/** What happens to a call while the store cannot be asked. */
export type OnStoreFailure = 'open' | 'closed' | LocalMode

/** Calls are counted in this process, each process granting its share. */
export interface LocalMode {
  readonly local: {
    /**
     * How many processes share a quota: each grants the whole part of quota ÷ instances, and at least 1. A function
     * is asked at each call, for fleets that grow and shrink; what it says that is no whole number from 1 is passed over.
     */
    readonly instances: number | (() => number)
  }
}

const MOST_INSTANCES = 1_000_000

/** @throws TypeError or RangeError naming the option, the value and the rule */
export function expectOnStoreFailure(value: unknown): asserts value is OnStoreFailure {
  if (typeof value !== 'object' || value === null) {
    if (value !== 'open' && value !== 'closed')
      throw new TypeError(expected('onStoreFailure', '"open", "closed" or { local: { instances } }', value))
    return
  }
  const { local } = value as Partial<LocalMode>
  expectOnly('onStoreFailure', value, ['local'])
  if (typeof local !== 'object' || local === null)
    throw new TypeError(expected('onStoreFailure.local', 'an object such as { instances: 4 }', local))
  expectOnly('onStoreFailure.local', local, ['instances'])
  const { instances } = local
  if (typeof instances !== 'function' && !isCount(instances))
    throw new RangeError(
      expected(
        'onStoreFailure.local.instances',
        `a whole number from 1 to ${MOST_INSTANCES} or a function`,
        instances,
      ),
    )
}

/** How many instances there are now; the last number that made sense, to begin with 1, where a function makes none. */
export function createInstances(): (mode: LocalMode) => number {
  const last = new WeakMap<() => number, number>()
  return ({ local: { instances } }) => {
    if (typeof instances === 'number') return instances
    const before = last.get(instances) ?? 1
    try {
      const now = instances()
      if (!isCount(now)) {
        // It may be a promise, which is no number, and what it comes to is nobody's business.
        Promise.resolve(now).catch(() => {})
        return before
      }
      last.set(instances, now)
      return now
    } catch {
      return before
    }
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MOST_INSTANCES
}
