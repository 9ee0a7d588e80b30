import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
import { type Crew, startCrew } from './crew.js'
import { CALLS_EACH, type Count, QUOTA, shapes, type Way, ways, windowOfADay } from './rows.js'

const PROCESSES = 4

let server: TestRedis
let crew: Crew
beforeAll(async () => {
  server = await startRedis()
  crew = startCrew(PROCESSES, server.port)
}, 60_000)
afterAll(async () => {
  await crew.stop()
  await server.stop()
})

function sum(counts: readonly Count[], of: 'charged' | 'replayed' | 'denied'): number {
  return counts.reduce((total, count) => total + count[of], 0)
}

/** Plays a row; again, for somebody else, where the machine held Redis up for so long that a store gave up on it. */
async function undisturbed(way: Way, shape: string): Promise<readonly Count[]> {
  let counts: readonly Count[] = []
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const windowSeconds = windowOfADay(Date.now())
    counts = await crew.play({ way, shape, windowSeconds, who: `${way} ${shape} ${attempt}` })
    if (counts.every(({ strange }) => strange.length === 0)) break
  }
  return counts
}

describe('4 processes that make 250 calls each at once are admitted exactly 100 times', () => {
  const rows = ways.flatMap((way) => Object.keys(shapes).map((shape) => [way, shape] as const))
  // The first row waits until every process has started.
  it.each(rows)('%s, by %s', { timeout: 60_000 }, async (way, shape) => {
    const counts = await undisturbed(way, shape)
    expect(counts.flatMap(({ strange }) => strange)).toEqual([])
    expect(sum(counts, 'charged')).toBe(QUOTA)
    // Each admission is told again to the three other processes that ask by its id, and to nobody else.
    expect(sum(counts, 'replayed')).toBe(way === 'id' ? QUOTA * (PROCESSES - 1) : 0)
    if (way !== 'deny cache' || shape === 'concurrency') expect(sum(counts, 'denied')).toBe(0)
    else expect(sum(counts, 'denied')).toBeGreaterThan(PROCESSES * (CALLS_EACH - QUOTA - 100))
  })
})
