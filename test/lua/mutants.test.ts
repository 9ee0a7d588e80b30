import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startRedis, type TestRedis } from '../redis.js'
import { checks } from './checks.js'
import type { Ground } from './ground.js'
import { mutants } from './mutants.js'

let server: TestRedis
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = server.client()
})
afterAll(() => server.stop())

async function passes(name: keyof typeof checks, change: Ground['change']): Promise<void> {
  await redis.flushall()
  const ground: Ground = { redis, change, opened: [] }
  try {
    await checks[name](ground)
  } finally {
    for (const limiter of ground.opened) await limiter.close()
  }
}

describe('of the scripts as they ship', { timeout: 60_000 }, () => {
  it.each(Object.keys(checks) as (keyof typeof checks)[])('it holds that %s', async (name) => {
    await passes(name, (texts) => texts)
  })
})

describe('a fault in a script is noticed', { timeout: 60_000 }, () => {
  it.each(mutants.map((mutant) => [mutant.fault, mutant] as const))(
    '%s',
    async (_, { noticedBy, change }) => {
      // The text that the fault is made in is still there, else this throws and says so.
      expect(
        await passes(noticedBy, change).then(
          () => 'not noticed',
          (error: Error) => error.name,
        ),
      ).toBe('AssertionError')
    },
  )
})
