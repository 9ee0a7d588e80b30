import { describe, expect, it } from 'vitest'
import { seeded } from './random.js'
import { play, type Scenario } from './run.js'
import { bucket } from './servers.js'

/** Any bucket, any network with bounded jitter, any load: a backlog at once, or calls that trickle in. */
function anyScenario(seed: number): Scenario & { readonly about: string } {
  const random = seeded(seed)
  const pick = <T>(from: readonly [T, ...T[]]): T => from[Math.floor(random() * from.length)] ?? from[0]
  const quota = 1 + Math.floor(random() ** 2 * 200)
  const ratePerSecond = Math.max(
    0.001,
    Math.floor((1000 * quota) / (0.05 + random() * pick([3, 3, 60]))) / 1000,
  )
  const windowMs = Math.max(1, Math.ceil(quota / ratePerSecond)) * 1000
  const rttMs = pick([2, 20, 60, 250])
  const load = 0.3 + 0.9 * random()
  const backlog = random() < 0.4
  const arrivals = (chance: () => number) => (-Math.log(1 - chance()) * 1000) / (ratePerSecond * load)
  return {
    about: JSON.stringify({ seed, quota, ratePerSecond, rttMs, load: backlog ? 'backlog' : load }),
    server: () => bucket(quota, windowMs, { ratePerSecond }),
    calls: Math.min(300, 3 * quota + 20),
    rttMs,
    strays: 0,
    hints: random() < 0.7,
    mostInFlight: 1000,
    timersLateMs: pick([0, 2]),
    ...(backlog ? {} : { spacingMs: arrivals }),
    seed,
  }
}

describe('alone on a token bucket', () => {
  it('a client never sends more than the bucket allows', () => {
    const refused: string[] = []
    for (let seed = 1; seed <= 160; seed += 1) {
      const scenario = anyScenario(seed)
      if (play(scenario).refused > 0) refused.push(scenario.about)
    }
    expect(refused).toEqual([])
  })
})
