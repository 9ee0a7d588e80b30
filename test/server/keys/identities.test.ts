import {
  type BucketOwner,
  concurrency,
  createLimiter,
  fixedWindow,
  type Limiter,
  type LimiterEvent,
  memoryStore,
  type Store,
  slidingWindowLog,
  tokenBucket,
} from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'

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

const ends = ['', ':', '{', '}', '{}', '}{', '*', '?', '\n', '\0', '%', '#', '|', '|!', '[a]', '\\', ' ', '/']
/** Texts that a caller may choose, no two the same: what means something to Redis, to our keys or to JavaScript. */
const hostile: readonly string[] = [
  ...new Set([
    ...ends.flatMap((end) => [`${end}a`, `a${end}`, `a${end}b`, `${end}${end}x`]),
    ...ends.filter((end) => end !== ''),
    ...['%25', '%7B', '%7D', '%3A', '%00', 'a%3Ab', '\\n', '\\0', '%u0000', '&#0;'],
    ...['\ud800', '\udc00', '\udc00\ud800', '\ud800\ud800', '\ufffd', '\ufffe', 'a\ud800', '\ud800a'],
    ...['😀', '😁', '\ud83d', '\ude00', 'é', 'e\u0301', '\u200b', 'a\u200b', '\u202ea', 'Ａ'],
    ...[
      '__proto__',
      'constructor',
      'hasOwnProperty',
      'toString',
      'null',
      'undefined',
      'NaN',
      '0',
      '00',
      '-0',
    ],
    ...[
      'client:a',
      '{client:a}',
      'rl1:{client:a}',
      'a}:GET',
      'a}|log:p',
      'a|log:p',
      'a|id:i',
      '1:a',
      'forever',
    ],
    ...['a'.repeat(64), 'a'.repeat(65), ' '.repeat(21), ' '.repeat(22), '😀'.repeat(5), '😀'.repeat(6)],
    ...[
      'x'.repeat(2 ** 20),
      `${'x'.repeat(2 ** 20 - 1)}y`,
      `y${'x'.repeat(2 ** 20 - 1)}`,
      '\0'.repeat(2 ** 20),
    ],
    // As a digest is written: 32 characters after a number sign.
    ...[`#${'A'.repeat(32)}`, 'A'.repeat(32), `%23${'A'.repeat(32)}`],
  ]),
]

const policies = [
  fixedWindow({ name: 'record', quota: 1, windowSeconds: 3600, anchor: 'first-request' }),
  slidingWindowLog({ name: 'log', quota: 1, windowSeconds: 3600 }),
  concurrency({ name: 'places', limit: 1, leaseSeconds: 3600 }),
  fixedWindow({ name: 'scoped', quota: 1, windowSeconds: 3600, anchor: 'first-request', perScope: true }),
]

const stores: readonly (readonly [name: string, open: () => Store])[] = [
  ['in memory', () => memoryStore()],
  ['in Redis', () => redisStore(redis, { timeoutMs: 20_000 })],
  ['in Redis, hashed', () => redisStore(redis, { timeoutMs: 20_000, hashPartitions: true })],
]

function open(store: Store): Limiter {
  const limiter = createLimiter({
    policies,
    store,
    onStoreFailure: 'closed',
    denyCache: false,
    blocks: true,
    idSeconds: 3600,
  }) as Limiter
  onTestFinished(() => limiter.close())
  return limiter
}

/** The part of a key that decides on which node of a cluster it lives: what is in the first braces, if anything is. */
function tagOf(key: string): string {
  const from = key.indexOf('{')
  const to = key.indexOf('}', from + 1)
  return from >= 0 && to > from + 1 ? key.slice(from + 1, to) : key
}

describe.each(stores)('identities that callers choose %s', (name, store) => {
  it('are never taken for one another', async () => {
    const limiter = open(store())
    for (const round of ['admitted', 'refused'] as const) {
      const calls = hostile.map((who) => limiter.consume(who))
      expect((await Promise.all(calls)).map(({ outcome }) => outcome)).toEqual(hostile.map(() => round))
    }
  })

  it('nor are their scopes', async () => {
    const limiter = open(store())
    const pairs = hostile
      .filter((text) => text.length < 100)
      .flatMap((text) => [
        ['a', text],
        [text, 'a'],
      ])
    const apart = new Map(
      pairs.map(([who = '', scope = '']) => [JSON.stringify([who, scope]), { who, scope }]),
    )
    const cost = { record: 0, log: 0, places: 0, scoped: 1 }
    const calls = [...apart.values()].map(({ who, scope }) => limiter.consume(who, { scope, cost }))
    expect((await Promise.all(calls)).filter(({ allowed }) => !allowed)).toEqual([])
  })

  it('nor are the ids of their calls', async () => {
    const limiter = open(store())
    const cost = { record: 0, log: 0, places: 0, scoped: 0 }
    const ids = hostile.filter((id) => id.length <= 256)
    for (const replayed of [false, true]) {
      const calls = await Promise.all(ids.map((id) => limiter.consume('a', { id, cost })))
      expect(calls.map((call) => call.outcome === 'admitted' && call.replayed)).toEqual(
        ids.map(() => replayed),
      )
    }
  })

  it('nor are they blocked with one another', async () => {
    const limiter = open(store())
    for (const [i, who] of hostile.entries()) if (i % 2 === 0) await limiter.block(who, 3600)
    const calls = await Promise.all(hostile.map((who) => limiter.peek(who)))
    expect(calls.map(({ outcome }) => outcome)).toEqual(
      hostile.map((_, i) => (i % 2 === 0 ? 'blocked' : 'admitted')),
    )
  })

  it.skipIf(name === 'in memory')('have all their keys under one tag, which no other has', async () => {
    const limiter = open(store())
    const tags = new Set<string>()
    for (const who of hostile) {
      await redis.flushall()
      await limiter.block(who, 3600)
      await limiter.unblock(who)
      await limiter.consume(who, { scope: '}{*\n', id: '}{' })
      await limiter.block(who, 3600)
      const keys = await redis.keysBuffer('*')
      // A record, a log, places, a record of a scope, an id and a block.
      expect(keys).toHaveLength(6)
      const texts = keys.map((key) => key.toString('latin1'))
      for (const key of texts) {
        expect(key).toMatch(/^[\x21-\x7e]{1,200}$/)
        if (name === 'in Redis, hashed') expect(tagOf(key)).toMatch(/^client:#[\w-]{32}$/)
      }
      const own = new Set(texts.map(tagOf))
      expect([...own]).toHaveLength(1)
      tags.add([...own].join())
    }
    expect(tags.size).toBe(hostile.length)
  })
})

describe('an identity of many characters', () => {
  const long = (end: string) => `k${'é'.repeat(8000)}${end}`
  const burst = { name: 'burst', capacity: 1, refillPerSecond: 0.001 } as const

  /** A store that says whom it was asked about. */
  function told(): { readonly store: Store; readonly owners: BucketOwner[] } {
    const inner = memoryStore({ maxBuckets: 2 })
    const owners: BucketOwner[] = []
    const run: Store['run'] = (ops, deadlineMs) => {
      for (const op of ops) {
        if ('charges' in op) owners.push(...op.charges.map(({ owner }) => owner))
        if ('blocks' in op) owners.push(...op.blocks)
        if ('once' in op && op.once !== undefined) owners.push(op.once.owner)
      }
      return inner.run(ops, deadlineMs)
    }
    return { store: { ...inner, run, remote: true, slotBy: 'account' }, owners }
  }

  it('is kept and told by its beginning and a digest, and is no other', async () => {
    const { store, owners } = told()
    const events: LimiterEvent[] = []
    const limiter = createLimiter({
      policies: [
        tokenBucket({ ...burst, by: 'user', perScope: true }),
        tokenBucket({ ...burst, by: 'account', name: 'all' }),
      ],
      store,
      blocks: true,
      onEvent: (event) => events.push(event),
    })
    onTestFinished(() => limiter.close())
    const who = { user: long('u'), account: long('a') }
    const call = { scope: long('s'), id: 'one' }
    expect((await limiter.consume(who, call)).outcome).toBe('admitted')
    expect(await limiter.consume(who, call)).toMatchObject({ replayed: true })
    expect(await limiter.consume(who, { scope: long('s') })).toMatchObject({
      outcome: 'refused',
      source: 'store',
    })
    expect(await limiter.consume(who, { scope: long('s') })).toMatchObject({ source: 'deny-cache' })
    const texts = owners.flatMap(({ value, scope = '', home }) => [value, scope, home?.value ?? ''])
    expect(Math.max(...texts.map(({ length }) => length))).toBe(129)
    const [first] = owners as [BucketOwner]
    expect(first.value).toMatch(/^ké{79}…[\da-f]{48}$/)
    expect(first.value).not.toBe(first.home?.value)
    // Its name as it is kept is a name like any other.
    const other = { user: first.value, account: first.home?.value ?? '' }
    expect((await limiter.consume(other, { scope: first.scope ?? '' })).outcome).toBe('admitted')
    const evicted = events.flatMap((event) => (event.type === 'evicted' ? [event.owner.value.length] : []))
    expect(evicted.length).toBeGreaterThan(0)
    expect(Math.max(...evicted)).toBe(129)
    await limiter.block(who, 60)
    expect((await limiter.consume(who)).outcome).toBe('blocked')
    expect(await limiter.unblock(who)).toBe(true)
    await limiter.reset(who, { scope: long('s') })
    expect((await limiter.consume(who, { scope: long('s') })).outcome).toBe('admitted')
  })
})
