import { createLimiter, type Decision, type Limiter, tokenBucket } from '@ratepact/server'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bench, benches, type StoreUnderTest } from './stores.js'

/** One step of a history: time passes (or goes back), then something is asked for. */
interface Step {
  readonly ms: number
  readonly verb: 'consume' | 'peek' | 'reset'
  readonly who: string
  readonly account: string
  readonly scope: string
  readonly cost: number
  /** Which set of numbers the policies have from here on. */
  readonly numbers: 0 | 1
}

const steps = fc.array(
  fc.record<Step>({
    ms: fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: -300, max: 0 }), fc.constant(0)),
    verb: fc.constantFrom('consume', 'consume', 'consume', 'consume', 'peek', 'reset'),
    who: fc.constantFrom('a', 'b'),
    account: fc.constantFrom('x', 'y'),
    scope: fc.constantFrom('GET /', 'POST /'),
    cost: fc.integer({ min: 0, max: 6 }),
    numbers: fc.constantFrom(0, 0, 0, 1),
  }),
  { minLength: 1, maxLength: 40 },
)

const numbers = [
  { burst: [5, 2.5], minute: [7, 1 / 3], team: [11, 7] },
  { burst: [50, 20], minute: [4, 1 / 7], team: [11, 0.7] },
] as const

function policiesOf(which: 0 | 1) {
  const { burst, minute, team } = numbers[which]
  return [
    tokenBucket({ name: 'burst', capacity: burst[0], refillPerSecond: burst[1] }),
    tokenBucket({ name: 'minute', capacity: minute[0], refillPerSecond: minute[1], perScope: true }),
    tokenBucket({ name: 'team', capacity: team[0], refillPerSecond: team[1], by: 'account' }),
  ] as const
}

async function history(bench: Bench, taken: readonly Step[]): Promise<(Decision | undefined)[]> {
  const under: StoreUnderTest = bench.open()
  const open = (which: 0 | 1) =>
    createLimiter({ policies: policiesOf(which), store: under.store, onStoreFailure: 'closed' })
  const limiters = [open(0), open(1)]
  const decisions: (Decision | undefined)[] = []
  for (const { ms, verb, who, account, scope, cost, numbers: which } of taken) {
    under.advance(ms)
    const limiter = limiters[which] as Limiter<'burst' | 'minute' | 'team', 'client' | 'account'>
    const partition = { client: who, account }
    if (verb === 'reset') await limiter.reset(partition, { scope })
    decisions.push(verb === 'reset' ? undefined : await limiter[verb](partition, { scope, cost }))
  }
  await under.store.close()
  return decisions
}

const [memory, redis] = benches
if (memory === undefined || redis === undefined) throw new Error('no stores')

describe('memory and Redis', { timeout: 120_000 }, () => {
  beforeAll(() => redis.start())
  afterAll(() => redis.stop())

  it('decide the same about any history', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        expect(await history(redis, taken)).toEqual(await history(memory, taken))
      }),
      { numRuns: 400 },
    )
  })
})
