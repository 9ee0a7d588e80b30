import { fixedWindow, tokenBucket } from '@ratepact/server'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { overBucket, overWindow } from './bound.js'
import { fleet, type Member } from './fleet.js'

/** Some time of a process: calls at a steady pace, then a rest. */
interface Spell {
  readonly who: 0 | 1 | 2
  readonly calls: number
  readonly everyMs: number
  readonly cost: number
  readonly restMs: number
  readonly ends: 'no' | 'closes' | 'crashes'
}

const spells = fc.array(
  fc.record<Spell>({
    who: fc.constantFrom(0, 1, 2),
    calls: fc.integer({ min: 1, max: 60 }),
    everyMs: fc.constantFrom(0, 0, 1, 5, 20),
    cost: fc.constantFrom(1, 1, 1, 2, 5),
    restMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3000 })),
    ends: fc.constantFrom('no', 'no', 'no', 'no', 'closes', 'crashes'),
  }),
  { minLength: 2, maxLength: 14 },
)
const ways = fc.record({
  travelMs: fc.constantFrom(0, 1, 8, 30),
  /** Of a hundred ops and a hundred answers. */
  lost: fc.constantFrom(0, 0, 5),
  seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
})
const leases = fc.record({ units: fc.constantFrom(4, 10, 40), seconds: fc.constantFrom(0.05, 0.5, 2) })

type Way = Readonly<{ travelMs: number; lost: number; seed: number }>

/** A way that is as slow and lossy as told, by chance but the same each time. */
function wayOf({ travelMs, lost, seed }: Way) {
  let state = seed
  const chance = () => {
    state = (state * 48_271) % (2 ** 31 - 1)
    return state / (2 ** 31 - 1)
  }
  return { travelMs: () => travelMs * chance(), loses: () => chance() * 100 < lost }
}

const policies = [
  tokenBucket({ name: 'burst', capacity: 60, refillPerSecond: 40 }),
  tokenBucket({ name: 'burst', capacity: 40, refillPerSecond: 1 }),
  tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 200 }),
  fixedWindow({ name: 'burst', quota: 60, windowSeconds: 2 }),
  fixedWindow({ name: 'burst', quota: 200, windowSeconds: 86_400 }),
]

describe('processes with leases', { timeout: 120_000 }, () => {
  it.each(policies)(
    'never let more pass than $quota in $windowSeconds s, whatever they do, and whatever is lost on the way',
    async (policy) => {
      let leased = 0
      const history = fc.asyncProperty(spells, ways, leases, async (taken, way, options) => {
        const all = fleet([policy])
        const join = () => all.join(options, wayOf(way))
        const members: Member[] = [join(), join(), join()]
        const open: Promise<unknown>[] = []
        for (const { who, calls, everyMs, cost, restMs, ends } of taken) {
          const member = members[who] as Member
          for (let i = 0; i < calls; i += 1) {
            open.push(
              all.start(member, 'hot', cost).then(({ source }) => {
                if (source === 'lease') leased += 1
              }),
            )
            if (everyMs > 0) await all.clock.advance(everyMs)
          }
          if (ends === 'crashes') member.crash()
          if (ends === 'closes') open.push(member.limiter.close())
          if (ends !== 'no') members[who] = join()
          await all.clock.advance(restMs)
        }
        await all.clock.runUntil(Promise.all(open))
        const over =
          policy.algorithm === 'fixed-window'
            ? overWindow(all.passed, policy.quota, policy.windowSeconds)
            : overBucket(all.passed, policy.quota, policy.ratePerSecond)
        expect(over).toBeLessThanOrEqual(1e-3)
      })
      await fc.assert(history, { numRuns: Number(process.env.HISTORIES ?? 30) })
      // Else nothing was tried.
      expect(leased).toBeGreaterThan(0)
    },
  )
})
