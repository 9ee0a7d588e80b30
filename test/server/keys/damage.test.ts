import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type LimiterSettings,
  type Op,
  type Policy,
  type Reply,
  type TokenBucketPolicy,
} from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
import { policiesKept, QUOTA } from './policies.js'

let server: TestRedis
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = server.client()
})
beforeEach(async () => {
  await redis.flushall()
})
afterAll(() => server.stop())

const bytes = (byte: number, length: number) => Buffer.alloc(length, byte)

/** What may be found under a key of ours and is none of ours. */
const plants: readonly (readonly [name: string, plant: (key: string) => Promise<unknown>])[] = [
  ['a list of texts', (key) => redis.rpush(key, 'x', 'y')],
  ['a hash', (key) => redis.hset(key, 'x', 'y')],
  ['a set', (key) => redis.sadd(key, 'x')],
  ['a sorted set', (key) => redis.zadd(key, 'inf', 'x', '1e300', 'y', '-inf', 'z', '1', 'q')],
  ['a stream', (key) => redis.xadd(key, '*', 'x', 'y')],
  ['an empty text', (key) => redis.set(key, '')],
  ['a text', (key) => redis.set(key, 'hello')],
  ...['0', '-1', '-1e300', '1e300', 'inf', '-inf', 'nan', '99999999999999999999', '1 2', '9e15 9e15'].map(
    (number) => [`the number ${number}`, (key: string) => redis.set(key, number)] as const,
  ),
  ['a long number of two parts', (key) => redis.set(key, `${'9'.repeat(25)} ${'9'.repeat(25)}`)],
  ...[0x00, 0x01, 0x7f, 0xff].flatMap((byte) => [
    [`two entries of the byte ${byte}`, (key: string) => redis.set(key, bytes(byte, 68))] as const,
    [
      `calls of the byte ${byte}`,
      (key: string) => redis.rpush(key, bytes(byte, 21), bytes(byte, 21)),
    ] as const,
  ]),
  [
    'a call that takes units away',
    (key) => redis.rpush(key, loggedCall(10n, 2n ** 50n), loggedCall(-10n, 0n)),
  ],
  [
    'a call far ahead before one of now',
    (key) => redis.rpush(key, loggedCall(10n ** 9n, 0n, 10n), loggedCall(-1n, 10n, 0n)),
  ],
  [
    'a call between others whose instant is more than counts exactly',
    (key) => redis.rpush(key, loggedCall(-10n, 0n), loggedCall(3n * 10n ** 10n, 1n, 4n), loggedCall(-1n, 5n)),
  ],
  [
    'a place that is held for ages',
    (key) => redis.zadd(key, 'inf', `a:1:${'9'.repeat(56)}`, 'inf', `b:1:${'9'.repeat(400)}`),
  ],
  ['what another policy keeps, from far ahead', (key) => redis.set(key, otherEntry(10n ** 9n, 60n))],
  [
    'what another policy keeps, which ends before it begins',
    (key) => redis.set(key, otherEntry(10n ** 9n, -60n)),
  ],
  ['what another policy keeps, and for longer than any', (key) => redis.set(key, otherEntry(-9n, 10n ** 9n))],
  ['calls of more units than there are', (key) => redis.rpush(key, loggedCall(-10n, 0n, 2n ** 54n))],
]

/** A call as a log holds it, so many seconds from now, after so many units. */
function loggedCall(seconds: bigint, before: bigint, units = 1n): Buffer {
  const atUs = (BigInt(Date.now()) + seconds * 1000n) * 1000n
  const hex = [atUs, units, before].map((number) => number.toString(16).padStart(14, '0')).join('')
  return Buffer.from(hex, 'hex')
}

/** An entry of a record that begins so many seconds from now and lasts so long, of a policy that nobody asks about. */
function otherEntry(seconds: bigint, lasts: bigint): Buffer {
  const atUs = (BigInt(Date.now()) + seconds * 1000n) * 1000n
  const numbers = [atUs + lasts * 1_000_000n, atUs, 5n, 1n]
  return Buffer.from(
    `${'01'.repeat(6)}${numbers.map((number) => number.toString(16).padStart(14, '0')).join('')}`,
    'hex',
  )
}

type Settings = LimiterSettings & { readonly candidate?: readonly Policy[] }

function open(policies: readonly Policy[], settings: Settings = {}): Limiter {
  const limiter = createLimiter({
    policies,
    store: redisStore(redis, { timeoutMs: 20_000 }),
    onStoreFailure: 'closed',
    denyCache: false,
    blocks: true,
    ...settings,
  }) as Limiter
  onTestFinished(() => limiter.close())
  return limiter
}

const call = { cost: { p: 1 }, scope: 'GET /' }

interface Operation {
  readonly name: string
  /** @param made a call of two units that the client was admitted for */
  run(limiter: Limiter, who: string, made: Decision): Promise<unknown>
}

/** What reads a key that may be damaged. */
const operations: readonly Operation[] = [
  { name: 'a call', run: (limiter, who) => limiter.consume(who, call) },
  { name: 'a call with an id', run: (limiter, who) => limiter.consume(who, { ...call, id: 'i' }) },
  { name: 'looking', run: (limiter, who) => limiter.peek(who, call) },
  { name: 'a refund', run: (limiter, _, made) => limiter.refund(made, { p: 1 }) },
  { name: 'a settlement', run: (limiter, _, made) => limiter.settle(made, { p: 3 }) },
  { name: 'a renewal', run: (limiter, _, made) => limiter.renew(made) },
  { name: 'a release', run: (limiter, _, made) => limiter.release(made) },
  { name: 'a reset', run: (limiter, who) => limiter.reset(who, { scope: 'GET /' }) },
]

interface Row {
  readonly name: string
  readonly policy: Policy
  /** What is in the key that is damaged, and in no other of the client. */
  readonly part: string
  readonly settings?: Settings
  /** Calls that pass at most, where that is not the quota. */
  readonly most?: number
}

const bucket = policiesKept()['token bucket']?.policy as Policy

const kinds: readonly Row[] = [
  ...Object.entries(policiesKept()).map(([name, { policy }]) => ({ name, policy, part: '' })),
  ...Object.entries(policiesKept({ perScope: true }))
    .filter(([name]) => name === 'token bucket' || name === 'sliding window log')
    .map(([name, { policy }]) => ({ name: `${name} per scope`, policy, part: '' })),
  ...Object.entries(policiesKept())
    .filter(([name]) => name === 'token bucket')
    .flatMap(([, { policy }]) => [
      { name: 'block', policy, part: '|!' },
      { name: 'memory of an id', policy, part: '|id:' },
    ]),
  { name: 'set of processes', policy: bucket, part: '|n', settings: { countInstances: true } },
  {
    name: 'window that holds calls for the next',
    policy: fixedWindow({ name: 'p', quota: QUOTA, windowSeconds: 10, anchor: 'first-request' }),
    part: '',
    settings: { hold: 10 },
    most: 2 * QUOTA,
  },
  ...['fixed window', 'sliding window log', 'concurrency'].map((name) => ({
    name: `candidate, a ${name}`,
    policy: policiesKept({ name: 'live' })['token bucket']?.policy as Policy,
    part: name === 'fixed window' ? '' : ':~p',
    settings: { candidate: [policiesKept()[name]?.policy as Policy] },
  })),
]

/** Each call by another process, where those are counted. */
function withInstances(limiter: Limiter): Limiter {
  if (!limiter.countsInstances) return limiter
  let calls = 0
  const named = (ask: Limiter['consume']): Limiter['consume'] => {
    return (who, options) => ask(who, { ...options, instance: `i${calls++ % 9}` })
  }
  return { ...limiter, consume: named(limiter.consume), peek: named(limiter.peek) }
}

/** The key of the damaged client that holds what the row is about. */
async function keyOf(limiter: Limiter, part: string): Promise<string> {
  if (part === '|!') await limiter.block('bad', 60)
  else await limiter.consume('bad', { ...call, id: 'i' })
  const keys = await redis.keys('*client:bad*')
  const key = keys.find((one) => (part === '' ? !one.includes('|id:') : one.includes(part)))
  if (key === undefined) throw new Error(`There is no key of that kind among ${keys.join(' ')}`)
  return key
}

const everybody = ['one', 'bad', 'two'] as const

/** What two clients are told while a third, in the same trip, meets the damage. */
async function besideDamage(limiter: Limiter, damage: () => Promise<unknown>): Promise<readonly unknown[]> {
  const said = []
  for (const { name, run } of operations) {
    await Promise.all(everybody.map((who) => limiter.reset(who, { scope: 'GET /' })))
    const made = await Promise.all(everybody.map((who) => limiter.consume(who, { ...call, cost: { p: 2 } })))
    await damage()
    const answers = await Promise.all(everybody.map((who, i) => run(limiter, who, made[i] as Decision)))
    said.push([name, wordFor(answers[0]), wordFor(answers[2])])
  }
  return said
}

function wordFor(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null ? (answer as Decision).outcome : answer
}

async function expectCounted(limiter: Limiter, most: number): Promise<void> {
  const many = Array.from({ length: 3 * QUOTA })
  const repeated = await Promise.all(many.map(() => limiter.consume('bad', { ...call, id: 'i' })))
  // By one id at most three are admitted again, the next is charged.
  const charged = repeated.filter((one) => one.outcome === 'admitted' && !one.replayed)
  const replayed = repeated.filter((one) => one.outcome === 'admitted' && one.replayed)
  expect(replayed.length).toBeLessThanOrEqual(3 * (charged.length + 1))
  const calls = await Promise.all(many.map(() => limiter.consume('bad', call)))
  expect(charged.length + calls.filter(({ allowed }) => allowed).length).toBeLessThanOrEqual(most)
  const tried = [...charged, ...calls].filter(({ shadow }) => shadow.some(({ allowed }) => allowed))
  expect(tried.length).toBeLessThanOrEqual(most)
  for (const one of [...repeated, ...calls]) {
    expect(one.outcome).toMatch(/^(admitted|refused)$/)
    if (one.outcome === 'refused') expect(one.retryAfterSeconds).toBeLessThanOrEqual(2 * 600)
  }
  expect(calls.at(-1)?.outcome).toBe('refused')
}

describe.each(kinds)('what is none of ours under the key of a $name', (row) => {
  const { policy, part, settings, most = QUOTA } = row
  it.each(plants)(
    'harms nobody beside it, nor is its client let through or shut out: %s',
    async (_, plant) => {
      const limiter = withInstances(open([policy], settings))
      const key = await keyOf(limiter, part)
      if (part === '|!') await limiter.unblock('bad')
      const damage = async () => {
        await redis.del(key)
        await plant(key)
      }
      const sound = await besideDamage(limiter, async () => {})
      expect(await besideDamage(limiter, damage)).toEqual(sound)
      await damage()
      await expectCounted(limiter, most)
      for (const one of await redis.keys('*')) {
        expect(await redis.pttl(one), one).not.toBe(-1)
        expect(await redis.pttl(one), one).toBeLessThanOrEqual(2 * 600_000 + 1)
      }
    },
  )
})

/** Text of a form that is right, of which nothing else is: far more in use than can be. */
function impossibleAdvance(): Buffer {
  const { unit, rate } = (bucket as TokenBucketPolicy).ticks
  const nowUs = Date.now() * 1000
  const numbers = [nowUs - 1e6, 0, 2 ** 55, unit, rate, nowUs + 10e6, 2 ** 55]
  return Buffer.from(numbers.map((number) => number.toString(16).padStart(14, '0')).join(''), 'hex')
}

describe('what is none of ours in the place of units taken ahead', () => {
  it.each([
    ...plants,
    ['more units than there are', (key: string) => redis.set(key, impossibleAdvance())] as const,
  ])('harms nobody beside it, nor is its client let through or shut out: %s', async (_, plant) => {
    const store = redisStore(redis, { timeoutMs: 20_000 })
    onTestFinished(() => store.close())
    const held = { endsUs: 0, units: 0, spent: 0 }
    const policy = bucket as TokenBucketPolicy
    const ask = async (before: readonly (typeof held)[]) => {
      const ops = everybody.map((value, i): Op => {
        const owner = { kind: 'client', value }
        const about = { policy, owner, held: before[i] ?? held, keep: true, want: 2 }
        return { kind: 'advance', advance: { ...about, share: 1, lastsUs: 20e6 } }
      })
      return ((await store.run(ops, 20_000)) as readonly Reply[]).map(({ readings: [reading] }) => {
        const [given = 0, kept = 0, endsUs = 0] = reading ?? []
        return { endsUs, units: given + kept, spent: 0 }
      })
    }
    const first = await ask([])
    expect(first.map(({ units }) => units)).toEqual([2, 2, 2])
    await redis.del('rl1:{client:bad}|ahead:p')
    await plant('rl1:{client:bad}|ahead:p')
    const second = await ask(first)
    expect([second[0]?.units, second[2]?.units]).toEqual([4, 4])
    const limiter = open([policy])
    const calls = await Promise.all(Array.from({ length: 3 * QUOTA }, () => limiter.consume('bad')))
    const passed = calls.filter(({ allowed }) => allowed).length
    expect((second[1]?.units ?? 0) + passed).toBeLessThanOrEqual(QUOTA)
    const last = calls.at(-1) as Decision
    expect(last.outcome === 'refused' && last.retryAfterSeconds <= 2 * 600).toBe(true)
    for (const key of await redis.keys('*')) {
      expect(await redis.pttl(key), key).toBeGreaterThan(0)
      expect(await redis.pttl(key), key).toBeLessThanOrEqual(2 * 600_000 + 1)
    }
  })
})
