import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  leakyBucket,
  type Policy,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bench, benches, type StoreUnderTest } from './stores.js'

/** One step of a history: time passes (or goes back), then something is asked for. */
interface Step {
  readonly ms: number
  readonly verb: 'consume' | 'peek' | 'reset' | 'refund' | 'settle' | 'release' | 'renew'
  readonly who: string
  readonly account: string
  readonly scope: string
  readonly cost: number
  /** By which the call is told from others, if by anything. */
  readonly id: string | undefined
  /** Which of the earlier decisions an effect is about, counted from the newest. */
  readonly back: number
  /** Which numbers the policies have. */
  readonly numbers: 0 | 1
}

const steps = fc.array(
  fc.record<Step>({
    ms: fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: -300, max: 0 }), fc.constant(0)),
    verb: fc.constantFrom(
      ...(['consume', 'consume', 'consume', 'consume', 'consume', 'peek', 'reset'] as const),
      ...(['refund', 'settle', 'release', 'renew'] as const),
    ),
    who: fc.constantFrom('a', 'b'),
    account: fc.constantFrom('x', 'y'),
    scope: fc.constantFrom('GET /', 'POST /'),
    cost: fc.integer({ min: 0, max: 6 }),
    id: fc.constantFrom(undefined, undefined, undefined, '1', '2'),
    back: fc.integer({ min: 0, max: 4 }),
    numbers: fc.constantFrom(0, 0, 0, 1),
  }),
  { minLength: 1, maxLength: 40 },
)

/** What a limiter goes by. */
interface Rules {
  readonly policies: readonly Policy[]
  readonly candidate?: readonly Policy[]
}

/** Sets of policies, each with two sets of numbers. */
const sets: Readonly<Record<string, readonly [zero: () => Rules, one: () => Rules]>> = {
  buckets: [
    () => ({
      policies: [
        tokenBucket({ name: 'a', capacity: 5, refillPerSecond: 2.5 }),
        tokenBucket({ name: 'b', capacity: 7, refillPerSecond: 1 / 3, perScope: true }),
        leakyBucket({ name: 'c', capacity: 11, leakPerSecond: 7, by: 'account' }),
      ],
    }),
    () => ({
      policies: [
        tokenBucket({ name: 'a', capacity: 50, refillPerSecond: 20 }),
        tokenBucket({ name: 'b', capacity: 6, refillPerSecond: 1 / 7, perScope: true }),
        leakyBucket({ name: 'c', capacity: 11, leakPerSecond: 0.7, maxDelaySeconds: 3, by: 'account' }),
      ],
    }),
  ],
  windows: [
    () => ({
      policies: [
        fixedWindow({ name: 'a', quota: 9, windowSeconds: 3 }),
        fixedWindow({ name: 'b', quota: 8, windowSeconds: 2.5, anchor: 'first-request', perScope: true }),
        slidingWindowCounter({ name: 'c', quota: 10, windowSeconds: 3, by: 'account' }),
      ],
    }),
    () => ({
      policies: [
        fixedWindow({ name: 'a', quota: 6, windowSeconds: 5 }),
        fixedWindow({ name: 'b', quota: 20, windowSeconds: 1.3, anchor: 'first-request', perScope: true }),
        slidingWindowCounter({ name: 'c', quota: 7, windowSeconds: 0.7, by: 'account' }),
      ],
    }),
  ],
  'logs and places': [
    () => ({
      policies: [
        slidingWindowLog({ name: 'a', quota: 9, windowSeconds: 3 }),
        slidingWindowLog({ name: 'b', quota: 7, windowSeconds: 1.1, perScope: true, by: 'account' }),
        concurrency({ name: 'c', limit: 3, leaseSeconds: 4 }),
      ],
    }),
    () => ({
      policies: [
        slidingWindowLog({ name: 'a', quota: 6, windowSeconds: 2 }),
        slidingWindowLog({ name: 'b', quota: 12, windowSeconds: 4, perScope: true, by: 'account' }),
        concurrency({ name: 'c', limit: 2, leaseSeconds: 3 }),
      ],
    }),
  ],
  'calls that are held': [
    () => ({
      policies: [
        tokenBucket({ name: 'a', capacity: 5, refillPerSecond: 2.5 }),
        fixedWindow({ name: 'b', quota: 8, windowSeconds: 2, perScope: true }),
        fixedWindow({ name: 'c', quota: 9, windowSeconds: 1.5, anchor: 'first-request', by: 'account' }),
      ],
    }),
    () => ({
      policies: [
        tokenBucket({ name: 'a', capacity: 6, refillPerSecond: 1 / 3 }),
        fixedWindow({ name: 'b', quota: 7, windowSeconds: 1.3, perScope: true }),
        fixedWindow({ name: 'c', quota: 20, windowSeconds: 3, anchor: 'first-request', by: 'account' }),
      ],
    }),
  ],
  'all at once': [
    () => ({
      policies: [
        slidingWindowLog({ name: 'a', quota: 9, windowSeconds: 3 }),
        tokenBucket({ name: 'b', capacity: 7, refillPerSecond: 2, by: 'account' }),
        fixedWindow({ name: 'c', quota: 8, windowSeconds: 2 }),
        concurrency({ name: 'd', limit: 4, leaseSeconds: 2, perScope: true }),
        slidingWindowCounter({ name: 'e', quota: 12, windowSeconds: 4 }),
      ],
    }),
    // The same names with other algorithms: each begins afresh.
    () => ({
      policies: [
        tokenBucket({ name: 'a', capacity: 9, refillPerSecond: 1 }),
        slidingWindowLog({ name: 'b', quota: 7, windowSeconds: 2, by: 'account' }),
        slidingWindowCounter({ name: 'c', quota: 8, windowSeconds: 2 }),
        fixedWindow({ name: 'd', quota: 6, windowSeconds: 2, perScope: true }),
        leakyBucket({ name: 'e', capacity: 12, leakPerSecond: 4 }),
      ],
    }),
  ],
  'policies that are tried, and debts of every size': [
    () => ({
      policies: [
        tokenBucket({ name: 'a', capacity: 5, refillPerSecond: 2.5, maxDebt: 12 }),
        fixedWindow({ name: 'b', quota: 8, windowSeconds: 2, by: 'account', maxDebt: 0 }),
        tokenBucket({ name: 'c', capacity: 4, refillPerSecond: 0.5, shadow: true }),
        concurrency({ name: 'd', limit: 3, leaseSeconds: 4, shadow: true, perScope: true }),
      ],
      candidate: [
        tokenBucket({ name: 'a', capacity: 3, refillPerSecond: 1, maxDebt: 1 }),
        slidingWindowLog({ name: 'b', quota: 9, windowSeconds: 3, by: 'account', maxDebt: 2 }),
        concurrency({ name: 'd', limit: 2, leaseSeconds: 3 }),
      ],
    }),
    // Some that were tried decide now, and the other way round.
    () => ({
      policies: [
        tokenBucket({ name: 'a', capacity: 3, refillPerSecond: 1, maxDebt: 0 }),
        slidingWindowLog({ name: 'b', quota: 9, windowSeconds: 3, by: 'account', shadow: true, maxDebt: 20 }),
        tokenBucket({ name: 'c', capacity: 6, refillPerSecond: 2 }),
        concurrency({ name: 'd', limit: 3, leaseSeconds: 4, perScope: true }),
      ],
      candidate: [
        slidingWindowCounter({ name: 'e', quota: 6, windowSeconds: 2 }),
        leakyBucket({ name: 'a', capacity: 7, leakPerSecond: 2, perScope: true }),
      ],
    }),
  ],
  'nothing but policies that are tried': [
    () => ({
      policies: [slidingWindowCounter({ name: 'a', quota: 7, windowSeconds: 2, shadow: true, maxDebt: 3 })],
      candidate: [
        fixedWindow({ name: 'a', quota: 4, windowSeconds: 3, anchor: 'first-request', by: 'account' }),
      ],
    }),
    () => ({
      policies: [slidingWindowCounter({ name: 'a', quota: 9, windowSeconds: 1.5, shadow: true })],
      candidate: [
        fixedWindow({
          name: 'a',
          quota: 6,
          windowSeconds: 2,
          anchor: 'first-request',
          by: 'account',
          maxDebt: 9,
        }),
      ],
    }),
  ],
}

type Choice = (typeof sets)[string]

/** For how many seconds the limiters of a set, the one with the first numbers and the one with the second, hold calls. */
const holds: Partial<Record<string, readonly [number | undefined, number | undefined]>> = {
  'calls that are held': [1.2, 0.4],
  'all at once': [0.7, undefined],
  'policies that are tried, and debts of every size': [undefined, 0.9],
  'nothing but policies that are tried': [0.8, 1.5],
}

async function history(
  bench: Bench,
  name: string,
  [zero, one]: Choice,
  taken: readonly Step[],
): Promise<unknown[]> {
  const under: StoreUnderTest = bench.open()
  const open = (rules: Rules, hold: number | undefined) =>
    createLimiter({
      ...rules,
      ...(hold === undefined ? undefined : { hold }),
      store: under.store,
      onStoreFailure: 'closed',
      denyCache: false,
      // Redis forgets an id by its own clock, which does not move here.
      idSeconds: 3600,
    })
  const [held, heldToo] = holds[name] ?? []
  const limiters = [open(zero(), held), open(one(), heldToo)] as const
  const decisions: { decision: Decision; numbers: 0 | 1 }[] = []
  const said: unknown[] = []
  for (const { ms, verb, who, account, scope, cost, id, back, numbers } of taken) {
    // A record forgets what is over when any of its buckets is written, so a clock that goes back over the end of a
    // window may find it in one store and not in the other, where several algorithms share a record.
    under.advance(zero().policies.length > 3 ? Math.abs(ms) : ms)
    const limiter = limiters[numbers]
    const partition = { client: who, account }
    if (verb === 'reset') {
      await limiter.reset(partition, { scope })
      continue
    }
    if (verb === 'consume' || verb === 'peek') {
      const decision = await limiter[verb](partition, { scope, cost, ...(id !== undefined && { id }) })
      said.push(decision)
      decisions.unshift({ decision, numbers })
      continue
    }
    const about = decisions[back]
    if (about === undefined) continue
    const its = limiters[about.numbers]
    if (verb === 'settle') said.push(await its.settle(about.decision, cost))
    else if (verb === 'refund') said.push(await its.refund(about.decision, ...(cost > 3 ? [] : [cost])))
    else said.push(await its[verb](about.decision))
  }
  await under.store.close()
  return said
}

const [memory, redis] = benches
if (memory === undefined || redis === undefined) throw new Error('no stores')

describe('memory and Redis', { timeout: 120_000 }, () => {
  beforeAll(() => redis.start())
  afterAll(() => redis.stop())

  it.each(Object.entries(sets))('say the same of any history of %s', async (name, choice) => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        expect(await history(redis, name, choice, taken)).toEqual(await history(memory, name, choice, taken))
      }),
      { numRuns: Number(process.env.HISTORIES ?? 150) },
    )
  })
})
