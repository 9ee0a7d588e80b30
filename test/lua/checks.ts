import {
  concurrency,
  fixedWindow,
  type Limiter,
  type Op,
  type Policy,
  slidingWindowLog,
  type TokenBucketPolicy,
  tokenBucket,
} from '@ratepact/server'
import fc from 'fast-check'
import { expect } from 'vitest'
import { handClock, redisOn, scriptsWith } from '../server/bounds/hand-clock.js'
import { play } from '../server/bounds/play.js'
import { type Counted, type Kind, long, rules, seconds } from '../server/bounds/rules.js'
import { schedules } from '../server/bounds/schedule.js'
import { type Kept, policiesKept } from '../server/keys/policies.js'
import { overBucket, overWindow } from '../server/leases/bound.js'
import { type Leasable, Processes, START_US, steps } from '../server/leases/processes.js'
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
  const policy = kept[0]?.policy as Policy
  await open(ground, [policy, tokenBucket({ name: 'q', capacity: 1, refillPerSecond: 1 })]).consume('both')
  const counting = open(ground, [policy], shippedStore(ground), { countInstances: true })
  await counting.consume('counted', { ...one, instance: 'i' })
  const owner = { kind: 'client', value: 'ahead' }
  const held = { endsUs: 0, units: 0, spent: 0 }
  const about = { policy: policy as TokenBucketPolicy, owner, held, keep: true, want: 1 }
  const op: Op = { kind: 'advance', advance: { ...about, share: 1, lastsUs: 20e6 } }
  await shippedStore(ground).run([op], 20_000)
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
    await limiter.consume(who, { cost: { own: 1, b: 2 } })
    expect(await left(limiter, who)).toEqual([0, 8, 8])
  }
  const alone = open(ground, [tokenBucket({ name: 'p', capacity: 3, refillPerSecond: SLOW })])
  await alone.consume('alone', { cost: 2 })
  await alone.consume('alone', { cost: 2 })
  expect(await left(alone, 'alone')).toEqual([1])
}

/** What a limiter charges that tries a shadow and a candidate beside what decides. */
async function triesRightly(ground: Ground): Promise<void> {
  const bucket = (name: string, capacity: number, shadow = false) =>
    tokenBucket({ name, capacity, refillPerSecond: SLOW, shadow })
  const places = concurrency({ name: 'places', limit: 9, leaseSeconds: 600, shadow: true })
  const limiter = open(
    ground,
    [bucket('live', 6), bucket('small', 3, true), bucket('large', 18, true), places],
    shippedStore(ground),
    { candidate: [bucket('live', 20), concurrency({ name: 'runs', limit: 9, leaseSeconds: 600 })] },
  )
  for (let call = 0; call < 7; call += 1) await limiter.consume('c', { cost: 2, id: `${call % 6}` })
  expect(await triedLeft(limiter)).toEqual([0, 1, 12, 6, 8, 6])
}

/** What is left of the policies that decide and that are tried, in their order. */
async function triedLeft(limiter: Limiter): Promise<readonly number[]> {
  const decision = await limiter.peek('c')
  const limits = 'limits' in decision ? decision.limits : []
  return [limits, ...decision.shadow.map((tried) => tried.limits)].flat().map(({ available }) => available)
}

/** Processes that take units ahead, in forty histories that are always the same, let no more pass than the policy says. */
function aheadOf(policy: Leasable): Check {
  return async (ground) => {
    // Quick, and seldom given back, so that much is held at once.
    const verbs = steps(['renew', 'renew', 'renew', 'spend', 'spend', 'consume', 'drain', 'crash'], 'max')
    for (const [i, taken] of fc.sample(verbs, { numRuns: 40, seed: 7 }).entries()) {
      const clock = { nowUs: START_US }
      const under = {
        store: handStore(ground, clock, `ahead${policy.quota}-${i}-`),
        advance: (ms: number) => {
          clock.nowUs += Math.round(ms * 1000)
        },
      }
      const processes = new Processes(under, policy)
      for (const step of taken) await processes.act({ ...step, us: Math.floor(step.us / 10) })
      await processes.finish()
      await under.store.close()
      const over =
        policy.algorithm === 'fixed-window'
          ? overWindow(processes.passed, policy.quota, policy.windowSeconds)
          : overBucket(processes.passed, policy.quota, policy.ratePerSecond)
      expect(over).toBeLessThanOrEqual(1e-6)
    }
  }
}

async function heldAsDefined(ground: Ground): Promise<void> {
  const kinds = ['bucket', 'calendar', 'from-first'] as const
  const rule = fc.constantFrom(...kinds).chain((kind) => rules(kind, seconds))
  const counted = fc.array(fc.record<Counted>({ rule, by: fc.constant('client') }), {
    minLength: 1,
    maxLength: 2,
  })
  const games = fc.sample(fc.tuple(counted, schedules(false), fc.constantFrom(1e6, 10e6)), {
    numRuns: 80,
    seed: 7,
  })
  for (const [i, [policies, taken, holdUs]] of games.entries()) {
    const clock = handClock()
    await play(handStore(ground, clock, `held${i}-`), clock, policies, taken, holdUs)
  }
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
      // The instant that Redis is told is a whole ms.
      expect(ms, key).toBeLessThanOrEqual(longest + 1)
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
    const both = [1 / 600, 1].map((rate, i) =>
      tokenBucket({ name: `p${i}`, capacity: 9, refillPerSecond: rate }),
    )
    await open(ground, both).consume('both')
    for (const [key, ms] of await lives(ground)) expect(ms, key).toBeGreaterThan(500_000)
    expect(await lives(ground)).toHaveLength(5)
  },

  'a refusal takes nothing': takesNothing,

  'what is tried takes what it admits, where it may': triesRightly,

  'processes are counted that were admitted, and so many at most': async (ground) => {
    const policies = [tokenBucket({ name: 'p', capacity: 400, refillPerSecond: SLOW })]
    const limiter = open(ground, policies, shippedStore(ground), { countInstances: true })
    const ask = (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, i) => limiter.consume('c', { instance: `${count}-${i}` })),
      )
    expect(await admittedOf((await ask(400)).map(async (decision) => decision))).toBe(400)
    const entries = async () => (await ground.redis.strlen('rl1:{client:c}|n')) / 12
    expect(await entries()).toBe(256)
    const before = await ground.redis.getBuffer('rl1:{client:c}|n')
    await ask(9)
    expect((await ground.redis.getBuffer('rl1:{client:c}|n'))?.equals(before ?? Buffer.of())).toBe(true)
  },

  'units taken ahead of a bucket are counted': async (ground) => {
    for (const [capacity, refillPerSecond] of [
      [20, 8],
      [30, 0.7],
    ] as const)
      await aheadOf(tokenBucket({ name: 'p', capacity, refillPerSecond }))(ground)
  },
  'units taken ahead of a window are counted': aheadOf(
    fixedWindow({ name: 'p', quota: 20, windowSeconds: 3 }),
  ),
  'definitions where calls are held': heldAsDefined,

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

  'what larger numbers granted flows back as a debt does': async (ground) => {
    const clock = handClock()
    const store = handStore(ground, clock)
    const at = (capacity: number) =>
      open(ground, [tokenBucket({ name: 'p', capacity, refillPerSecond: 10 })], store)
    const [old, fresh] = [at(100), at(10)]
    for (const who of ['c', 'd']) await old.consume(who, { cost: 100 })
    for (const who of ['c', 'd'])
      expect(await fresh.consume(who)).toMatchObject({ outcome: 'refused', retryAfterSeconds: 1.1 })
    expect((await old.consume('c')).outcome).toBe('refused')
    clock.nowUs += 0.6e6
    expect(await fresh.consume('d')).toMatchObject({ outcome: 'refused', retryAfterSeconds: 0.5 })
    clock.nowUs += 0.5e6
    expect((await fresh.consume('d')).outcome).toBe('admitted')
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
