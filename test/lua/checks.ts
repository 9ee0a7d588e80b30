import { concurrency, fixedWindow, type Policy, slidingWindowLog, tokenBucket } from '@ratepact/server'
import fc from 'fast-check'
import { expect } from 'vitest'
import { handClock, redisOn, scriptsWith } from '../server/bounds/hand-clock.js'
import { play } from '../server/bounds/play.js'
import { type Counted, type Kind, long, rules } from '../server/bounds/rules.js'
import { schedules } from '../server/bounds/schedule.js'
import { type Kept, policiesKept } from '../server/keys/policies.js'
import { admittedOf, type Ground, handStore, left, lives, open, shippedStore } from './ground.js'

/** Each holds of the scripts as they ship, and throws where it does not. */
type Check = (ground: Ground) => Promise<void>

const SLOW = 1e-6
const one = { cost: { p: 1 } }

/** Writes every kind of key there is. */
async function writeAll(ground: Ground): Promise<readonly Kept[]> {
  const kept = Object.values(policiesKept())
  for (const { policy } of kept) {
    const limiter = open(ground, [policy])
    await limiter.consume(policy.algorithm, one)
    await limiter.consume('together', one)
    await limiter.consume('with an id', { ...one, id: 'i' })
    const blocking = open(ground, [policy], shippedStore(ground), { blocks: true })
    await blocking.block('blocked', 600)
  }
  return kept
}

async function takesNothing(ground: Ground): Promise<void> {
  const own = tokenBucket({ name: 'own', capacity: 1, refillPerSecond: SLOW })
  const bucket = (name: string) => tokenBucket({ name, capacity: 9, refillPerSecond: SLOW })
  const wide = (by?: 'account') => [
    tokenBucket({ name: 'a', capacity: 9, refillPerSecond: SLOW, ...(by && { by }) } as never) as Policy,
    slidingWindowLog({ name: 'b', quota: 9, windowSeconds: 600, ...(by && { by }) } as never) as Policy,
  ]
  for (const policies of [
    [own, ...wide('account')],
    [own, ...wide()],
    [own, bucket('a'), bucket('b')],
  ]) {
    const limiter = open(
      ground,
      policies,
      redisOn(ground.redis, scriptsWith(ground.change), `n${ground.opened.length}-`),
    )
    const who = policies.some(({ by }) => by === 'account') ? { client: 'c', account: 'x' } : 'c'
    for (let i = 0; i < 4; i += 1) await limiter.consume(who)
    expect(await left(limiter, who)).toEqual([0, 8, 8])
  }
  const alone = open(ground, [tokenBucket({ name: 'p', capacity: 3, refillPerSecond: SLOW })])
  await alone.consume('alone', { cost: 2 })
  await alone.consume('alone', { cost: 2 })
  expect(await left(alone, 'alone')).toEqual([1])
}

/** The definitions of an algorithm, asked beside the limiter in forty schedules that are always the same. */
function definitionsOf(kind: Kind): Check {
  return async (ground) => {
    const rule = rules(kind, long)
    const counted = fc.array(fc.record<Counted>({ rule, by: fc.constantFrom('client', 'account') }), {
      minLength: 1,
      maxLength: 2,
    })
    const games = fc.sample(fc.tuple(counted, schedules(kind === 'places')), { numRuns: 40, seed: 7 })
    for (const [i, [policies, steps]] of games.entries()) {
      const clock = handClock()
      await play(handStore(ground, clock, `game${i}-`), clock, policies, steps)
    }
  }
}

export const checks = {
  'keys live no longer than they must': async (ground) => {
    const kept = await writeAll(ground)
    const longest = Math.max(...kept.map(({ longestMs }) => longestMs))
    for (const [key, ms] of await lives(ground)) {
      expect(ms, key).toBeGreaterThan(0)
      expect(ms, key).toBeLessThanOrEqual(longest)
    }
  },

  'keys live for as long as they must': async (ground) => {
    const calls = [fixedWindow({ name: 'p', quota: 9, windowSeconds: 600, anchor: 'first-request' })]
    const least = open(ground, calls)
    await least.consume('window')
    for (const policy of [
      tokenBucket({ name: 'p', capacity: 9, refillPerSecond: 1 / 600 }),
      slidingWindowLog({ name: 'p', quota: 9, windowSeconds: 600 }),
      concurrency({ name: 'p', limit: 9, leaseSeconds: 600 }),
    ])
      await open(ground, [policy]).consume(policy.algorithm, one)
    for (const [key, ms] of await lives(ground)) expect(ms, key).toBeGreaterThan(500_000)
    expect(await lives(ground)).toHaveLength(4)
  },

  'a refusal takes nothing': takesNothing,

  'clocks of processes do not matter': async (ground) => {
    const policies = [tokenBucket({ name: 'p', capacity: 4, refillPerSecond: 0.5 })]
    const at = (skewS: number) =>
      open(
        ground,
        policies,
        shippedStore(ground, () => (Date.now() + skewS * 1000) * 1000),
      )
    const [slow, fast] = [at(-10), at(10)]
    let admitted = 0
    for (let i = 0; i < 8; i += 1) admitted += await admittedOf([slow.consume('c'), fast.consume('c')])
    // One more may come back where this takes two seconds.
    expect(admitted).toBeLessThan(8)
  },

  'calls at once are counted exactly': async (ground) => {
    for (const policy of Object.values(policiesKept()).map((kept) => kept.policy)) {
      const limiter = open(ground, [policy])
      const calls = Array.from({ length: 40 }, () => limiter.consume(policy.algorithm, one))
      expect(await admittedOf(calls), policy.algorithm).toBe(policy.quota)
      await limiter.reset(policy.algorithm)
    }
  },

  'damage harms no neighbour': async (ground) => {
    const logged = open(ground, [slidingWindowLog({ name: 'p', quota: 9, windowSeconds: 600 })])
    const bucket = open(ground, [tokenBucket({ name: 'p', capacity: 9, refillPerSecond: SLOW })])
    await ground.redis.sadd('rl1:{client:bad}', 'x')
    await ground.redis.sadd('rl1:{client:bad}|log:p', 'x')
    for (const limiter of [logged, bucket])
      expect(await admittedOf(['a', 'bad', 'b'].map((who) => limiter.consume(who)))).toBe(3)
  },

  'blocked calls take nothing': async (ground) => {
    const limiter = open(
      ground,
      [tokenBucket({ name: 'p', capacity: 9, refillPerSecond: SLOW })],
      shippedStore(ground),
      {
        blocks: true,
      },
    )
    await limiter.block('c', 600)
    await limiter.consume('c')
    await limiter.unblock('c')
    expect(await left(limiter)).toEqual([9])
  },

  'an id is charged once': async (ground) => {
    const limiter = open(ground, [tokenBucket({ name: 'p', capacity: 9, refillPerSecond: SLOW })])
    const all = await limiter.consume('c', { cost: 9 })
    expect((await limiter.consume('c', { id: 'i' })).outcome).toBe('refused')
    await limiter.refund(all)
    for (const charged of [1, 1, 1, 1, 2, 2, 2, 2, 3]) {
      await limiter.consume('c', { id: 'i' })
      expect(await left(limiter)).toEqual([9 - charged])
    }
  },

  'a clock set back shuts nobody out': async (ground) => {
    const clock = handClock()
    const limiter = open(
      ground,
      [tokenBucket({ name: 'p', capacity: 9, refillPerSecond: 1 })],
      handStore(ground, clock),
    )
    clock.nowUs += 3600e6
    await limiter.consume('c', { cost: 9 })
    clock.nowUs -= 3600e6
    expect(await limiter.consume('c')).toMatchObject({ outcome: 'refused', retryAfterSeconds: 1 })
  },

  'a refund gives back what was taken': async (ground) => {
    const clock = handClock()
    const limiter = open(
      ground,
      [tokenBucket({ name: 'p', capacity: 9, refillPerSecond: 1 })],
      handStore(ground, clock),
    )
    const first = await limiter.consume('c', { cost: 9 })
    clock.nowUs += 9e6
    await limiter.consume('c', { cost: 9 })
    await limiter.refund(first)
    expect(await left(limiter)).toEqual([0])
  },

  'definitions of bucket': definitionsOf('bucket'),
  'definitions of queue': definitionsOf('queue'),
  'definitions of calendar': definitionsOf('calendar'),
  'definitions of from-first': definitionsOf('from-first'),
  'definitions of log': definitionsOf('log'),
  'definitions of counter': definitionsOf('counter'),
  'definitions of places': definitionsOf('places'),
} as const satisfies Readonly<Record<string, Check>>
