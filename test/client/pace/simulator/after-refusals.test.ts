import { describe, expect, it } from 'vitest'
import { seeded } from './random.js'
import { play, type Scenario } from './run.js'
import { bucket, fixed, log, raided, type Server } from './servers.js'

interface Chance {
  readonly about: string
  readonly quota: number
  readonly calm: Scenario
  readonly raided: Scenario
}

type Make = (quota: number, windowMs: number) => (random: () => number) => Server

const servers: Record<string, Make> = {
  bucket: (quota, windowMs) => () => bucket(quota, windowMs),
  leaky: (quota, windowMs) => () => bucket(quota, windowMs, { held: true }),
  window: (quota, windowMs) => (random) => fixed(quota, windowMs, random() * windowMs),
  log: (quota, windowMs) => () => log(quota, windowMs),
}

/**
 * A small quota of any kind and rate, whose units somebody else takes at first: all of them one to five times, at once
 * or in between. From a while after he left, the units of a hundred refills are counted.
 */
function anyScenario(kind: string, seed: number): Chance {
  const random = seeded(seed)
  const pick = <T>(from: readonly [T, ...T[]]): T => from[Math.floor(random() * from.length)] ?? from[0]
  const quota = 1 + Math.floor(random() * 10)
  const rttMs = Math.round(250 ** random())
  // Whether a unit comes back, and when, is known only to the round trip and, without hints, to the second.
  const leastMs = kind === 'bucket' ? 1000 : Math.max(5000, 40 * rttMs)
  const windowMs = Math.ceil((leastMs * 30 ** random()) / 1000) * 1000
  const hints = kind === 'leaky' || random() < 0.5
  const unitMs = windowMs / quota
  const firstMs = pick([0, 0, random() * windowMs])
  const times = 1 + Math.floor(random() * 5)
  const raids = Array.from({ length: times }, (_, time) => firstMs + time * unitMs * (1 + random()))
  const taken = raids.flatMap((atMs) => Array<number>(quota).fill(atMs))
  const settledMs = Math.max(...raids) + Math.max(40 * unitMs, 4 * windowMs)
  const make = (servers[kind] as Make)(quota, windowMs)
  const calls = { calls: Number.POSITIVE_INFINITY, lastingMs: 5 * settledMs, strays: 0, rttMs, hints, seed }
  return {
    about: JSON.stringify({ kind, seed, quota, windowMs, rttMs, hints, firstMs, times }),
    quota,
    calm: { ...calls, server: make },
    raided: { ...calls, server: (chance) => raided(make(chance), taken) },
  }
}

function accepted(scenario: Scenario): number {
  return play(scenario).accepted[0] ?? 0
}

describe('after one to five refusals', () => {
  it.each(Object.keys(servers))('a client alone on a small %s uses it as one that met none', (kind) => {
    const slow: string[] = []
    for (let seed = 1; seed <= 60; seed += 1) {
      const { about, quota, calm, raided } = anyScenario(kind, seed)
      // A leaky bucket may still hold as many answers at the end as it lets wait.
      const held = kind === 'leaky' ? quota : 0
      const share = (accepted(raided) + held) / accepted(calm)
      if (share < 0.95) slow.push(`${share.toFixed(2)} ${about}`)
    }
    expect(slow).toEqual([])
  })
})
