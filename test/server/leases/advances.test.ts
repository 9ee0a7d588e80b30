import { fixedWindow, tokenBucket } from '@ratepact/server'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Bench, benches } from '../stores/stores.js'
import { overBucket, overWindow } from './bound.js'
import { type Leasable, Processes, SOUND, type Step, steps } from './processes.js'

const policies: readonly Leasable[] = [
  tokenBucket({ name: 'burst', capacity: 20, refillPerSecond: 8 }),
  tokenBucket({ name: 'burst', capacity: 30, refillPerSecond: 0.7 }),
  tokenBucket({ name: 'burst', capacity: 9, refillPerSecond: 1e-6 }),
  fixedWindow({ name: 'burst', quota: 20, windowSeconds: 3 }),
]

async function history(bench: Bench, policy: Leasable, taken: readonly Step[]): Promise<Processes> {
  const under = bench.open()
  const processes = new Processes(under, policy)
  for (const step of taken) await processes.act(step)
  await processes.finish()
  await under.store.close()
  return processes
}

const [memory, redis] = benches
if (memory === undefined || redis === undefined) throw new Error('no stores')
const numRuns = Number(process.env.HISTORIES ?? 80)

describe('units taken ahead', { timeout: 120_000 }, () => {
  beforeAll(() => redis.start())
  afterAll(() => redis.stop())

  it.each(policies)(
    'never let more pass than the policy says: $quota in $windowSeconds s',
    async (policy) => {
      await fc.assert(
        fc.asyncProperty(steps(SOUND), async (taken) => {
          const { passed } = await history(memory, policy, taken)
          if (policy.algorithm === 'fixed-window')
            expect(overWindow(passed, policy.quota, policy.windowSeconds)).toBeLessThanOrEqual(0)
          else expect(overBucket(passed, policy.quota, policy.ratePerSecond)).toBeLessThanOrEqual(1e-6)
        }),
        { numRuns: numRuns * 3 },
      )
    },
  )

  it.each(policies)('are the same in memory and in Redis: $quota in $windowSeconds s', async (policy) => {
    await fc.assert(
      fc.asyncProperty(steps([...SOUND, 'reset']), async (taken) => {
        const said = [await history(memory, policy, taken), await history(redis, policy, taken)]
        expect(said[1]?.said).toEqual(said[0]?.said)
      }),
      { numRuns },
    )
  })
})
