import { createLimiter, type Limiter } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCluster, type TestCluster } from '../../cluster/cluster.js'
import { startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'
import { type Crew, startCrew } from './crew.js'
import { CALLS_EACH, type Count, QUOTA, shapes, type Way, ways, windowOfADay } from './rows.js'

const PROCESSES = 4
/** Partitions of several slots are charged in as many scripts, so what one gives back may be refused to another before. */
const APART = ['cluster', 'policies of two partitions'] as const

let server: TestRedis
let cluster: TestCluster
let crew: Crew
beforeAll(async () => {
  ;[server, cluster] = await Promise.all([startRedis(), startCluster()])
  crew = startCrew(PROCESSES, { redis: server.port, cluster: cluster.masters[0]?.port ?? 0 })
}, 60_000)
afterAll(async () => {
  await crew.stop()
  await Promise.all([server.stop(), cluster.stop()])
})

function sum(counts: readonly Count[], of: 'charged' | 'replayed' | 'denied' | 'leased'): number {
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
  const rows = ways
    .flatMap((way) => Object.keys(shapes).map((shape) => [way, shape] as const))
    .filter((row) => row.join() !== APART.join())
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

it('4 processes that charge two nodes of a Cluster at once are admitted at most 100 times; what lost the race comes back', {
  timeout: 60_000,
}, async () => {
  const [way, shape] = APART
  const windowSeconds = windowOfADay(Date.now())
  const first = await crew.play({ way, shape, windowSeconds, who: 'apart' })
  expect(first.flatMap(({ strange }) => strange)).toEqual([])
  // It may be none: where each of the two nodes let other calls in first, all of them lose.
  let charged = sum(first, 'charged')
  expect(charged).toBeLessThanOrEqual(QUOTA)
  const client = new Cluster([...cluster.addresses], { lazyConnect: true })
  const limiter = createLimiter({
    policies: shapes[shape]?.(windowSeconds) ?? [],
    store: redisStore(client, { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
    denyCache: false,
  }) as Limiter
  try {
    const one = async () => (await limiter.consume({ client: 'apart', account: 'apart' })).allowed
    await until('all that was given back is there', async () => {
      while (await one()) charged += 1
      return charged >= QUOTA
    })
    expect(await one()).toBe(false)
    expect(charged).toBe(QUOTA)
  } finally {
    await limiter.close()
    client.disconnect()
  }
})

describe('4 processes with leases that make 250 calls each at once', () => {
  const leasable = [
    'a token bucket',
    'a fixed window',
    'a fixed window from the first request',
    'two policies of one partition',
  ]
  /** A tenth of the quota, which each of the others may hold when the last unit is asked for; and the hold of a bucket. */
  const LEAST = QUOTA - (PROCESSES - 1) * (QUOTA / 10) - 1

  it.each(leasable)(
    'are admitted at most 100 times, and at least as often as promised; what they held comes back: %s',
    { timeout: 60_000 },
    async (shape) => {
      const windowSeconds = windowOfADay(Date.now())
      const row = { shape, windowSeconds, who: `leases ${shape}` }
      const counts = await crew.play({ ...row, way: 'leases' })
      expect(counts.flatMap(({ strange }) => strange)).toEqual([])
      expect(sum(counts, 'leased')).toBeGreaterThan(0)
      expect(sum(counts, 'charged')).toBeLessThanOrEqual(QUOTA)
      expect(sum(counts, 'charged')).toBeGreaterThanOrEqual(LEAST)
      const rest = await crew.play({ ...row, way: 'single' })
      expect(sum(counts, 'charged') + sum(rest, 'charged')).toBe(QUOTA)
    },
  )
})
