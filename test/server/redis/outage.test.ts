import {
  createLimiter,
  type Limiter,
  type LimiterEvent,
  type OnStoreFailure,
  tokenBucket,
} from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startProxy, type TestProxy } from '../../proxy.js'
import { freePort, startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'

const burst = tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 0.001 })
const KEY = 'rl1:{client:a}'

let server: TestRedis
let events: LimiterEvent[]
let closers: (() => Promise<void>)[]

beforeEach(async () => {
  events = []
  closers = []
  server = await startRedis()
})
afterEach(async () => {
  for (const close of closers.reverse()) await close()
  await server.stop()
})

function open(port: number, onStoreFailure: OnStoreFailure, timeoutMs = 50): Limiter {
  const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true })
  client.on('error', () => {})
  const limiter = createLimiter({
    policies: [burst],
    store: redisStore(client, { timeoutMs }),
    onStoreFailure,
    onEvent: (event) => events.push(event),
  })
  closers.push(async () => {
    await limiter.close()
    client.disconnect()
  })
  return limiter
}

async function openProxy(): Promise<TestProxy> {
  const proxy = await startProxy(server.port)
  closers.push(() => proxy.stop())
  return proxy
}

/** Waits for a first connection; what was told until then is no matter. */
async function connected(limiter: Limiter): Promise<void> {
  await works(limiter)
  events.length = 0
}

const works = (limiter: Limiter) =>
  until('the store answers', async () => (await limiter.peek('a')).source === 'store')

const unchecked = { outcome: 'unchecked', allowed: true, limits: [], source: 'none', shadow: [] }
const unavailable = {
  outcome: 'unavailable',
  allowed: false,
  retryAfterSeconds: 5,
  source: 'none',
  shadow: [],
}

describe.each([
  ['open', unchecked],
  ['closed', unavailable],
] as const)('a limiter that is %s without its store', (mode, answer) => {
  it('answers so from the first call after Redis was killed, and counts again when it is back', async () => {
    const limiter = open(server.port, mode)
    await connected(limiter)
    server.signal('SIGKILL')
    expect(await limiter.consume('a')).toEqual(answer)
    expect(events).toMatchObject([{ type: 'degraded', mode, calls: 1 }])
    await server.restart()
    await works(limiter)
    expect(await limiter.consume('a')).toMatchObject({ outcome: 'admitted', limits: [{ available: 999 }] })
    expect(events.at(-1)).toMatchObject({ type: 'recovered' })
  })

  it('answers so while Redis stands still, by its own deadline, and counts again when it goes on', async () => {
    const limiter = open(server.port, mode)
    await connected(limiter)
    server.signal('SIGSTOP')
    expect(await Promise.all([limiter.consume('a'), limiter.consume('b')])).toEqual([answer, answer])
    expect(events).toMatchObject([{ type: 'degraded', mode, reason: 'timeout', calls: 1 }])
    server.signal('SIGCONT')
    await works(limiter)
    expect((await limiter.consume('a')).outcome).toBe('admitted')
    expect(events.at(-1)).toMatchObject({ type: 'recovered' })
  })

  it('answers so when Redis was never up, and counts when it comes', async () => {
    const port = await freePort()
    const limiter = open(port, mode)
    expect(await limiter.consume('a')).toEqual(answer)
    expect(events).toMatchObject([{ type: 'degraded', mode, reason: 'disconnected', calls: 1 }])
  })

  it('answers so when its connection was cut under a call', async () => {
    const proxy = await openProxy()
    const limiter = open(proxy.port, mode, 20_000)
    await connected(limiter)
    proxy.replies('cut')
    expect(await limiter.consume('a')).toEqual(answer)
    expect(events).toMatchObject([{ type: 'degraded', mode, reason: 'disconnected', calls: 1 }])
    proxy.replies('pass')
    await works(limiter)
  })

  it('answers so, up and down and up and down, the same each time', async () => {
    const limiter = open(server.port, mode)
    for (let round = 0; round < 3; round += 1) {
      await works(limiter)
      expect((await limiter.consume('a')).outcome).toBe('admitted')
      server.signal('SIGKILL')
      expect(await limiter.consume('a')).toEqual(answer)
      await server.restart()
    }
    await works(limiter)
  })

  it('answers so when Redis has no memory left for a write', async () => {
    const limiter = open(server.port, mode, 20_000)
    await connected(limiter)
    await server.client().config('SET', 'maxmemory', '1')
    expect(await limiter.consume('a')).toEqual(answer)
    expect(events.at(-1)).toMatchObject({ type: 'degraded', reason: 'unready', error: { code: 'OOM' } })
  })
})

describe('a call whose answer is lost', () => {
  it('is charged once when the connection is cut after it was written', async () => {
    const proxy = await openProxy()
    const limiter = open(proxy.port, 'closed', 20_000)
    await connected(limiter)
    proxy.replies('cut')
    expect((await limiter.consume('a', { cost: 7 })).outcome).toBe('unavailable')
    proxy.replies('pass')
    await works(limiter)
    expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 993 }] })
  })

  it('is charged once when the answer comes after the deadline', async () => {
    const proxy = await openProxy()
    const limiter = open(proxy.port, 'closed')
    await connected(limiter)
    proxy.replies('hold')
    expect((await limiter.consume('a', { cost: 7 })).outcome).toBe('unavailable')
    proxy.cut()
    proxy.replies('pass')
    await works(limiter)
    expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 993 }] })
  })
})

describe('a call made before the connection is ready', () => {
  it('waits for it and is then charged once', async () => {
    const port = await freePort()
    const proxyless = open(port, 'closed', 20_000)
    const call = proxyless.consume('a')
    const late = await startRedis({ port })
    closers.push(() => late.stop())
    expect(await call).toMatchObject({ outcome: 'admitted', limits: [{ available: 999 }] })
    expect(await proxyless.peek('a')).toMatchObject({ limits: [{ available: 999 }] })
  })

  it('is not sent any more once its deadline has passed', async () => {
    const port = await freePort()
    const limiter = open(port, 'closed')
    expect((await limiter.consume('a')).outcome).toBe('unavailable')
    const late = await startRedis({ port })
    closers.push(() => late.stop())
    await works(limiter)
    expect(await limiter.peek('a')).toMatchObject({ limits: [{ available: 1000 }] })
    expect(await late.client().exists(KEY)).toBe(0)
  })
})

it('tells of an outage at once, then at most once a second with the number of calls', async () => {
  const limiter = open(server.port, 'open')
  await connected(limiter)
  server.signal('SIGSTOP')
  const end = performance.now() + 1500
  while (performance.now() < end) await Promise.all(Array.from({ length: 10 }, () => limiter.consume('a')))
  const told = events.filter((event) => event.type === 'degraded')
  expect(told.length).toBeGreaterThanOrEqual(2)
  expect(told.length).toBeLessThanOrEqual(3)
  expect(told[1]?.calls).toBeGreaterThan(1)
})

it('refuses to remember more than 10 000 calls that Redis leaves unanswered', async () => {
  const limiter = open(server.port, 'closed', 20_000)
  await connected(limiter)
  server.signal('SIGSTOP')
  const calls = Array.from({ length: 10_001 }, (_, i) => limiter.consume(`client-${i}`))
  expect((await calls.at(-1))?.outcome).toBe('unavailable')
  expect(events).toMatchObject([{ type: 'degraded', reason: 'overloaded' }])
  server.signal('SIGCONT')
  expect((await Promise.all(calls.slice(0, -1))).every(({ outcome }) => outcome === 'admitted')).toBe(true)
})

describe('closing', () => {
  it('lets the calls under way have the answers that come in time', async () => {
    const limiter = open(server.port, 'open', 20_000)
    await connected(limiter)
    // Of some the question has been sent, others wait to be sent; some are given back.
    const one = await limiter.consume('a')
    const sent = Array.from({ length: 500 }, () => limiter.consume('a'))
    await new Promise((resolve) => setImmediate(resolve))
    const queued = Array.from({ length: 500 }, () => limiter.consume('a'))
    const refund = limiter.refund(one)
    const closed = limiter.close()
    const calls = await Promise.all([...sent, ...queued])
    expect(new Set(calls.map(({ source }) => source))).toEqual(new Set(['store']))
    expect(calls.filter(({ allowed }) => allowed).length).toBeGreaterThanOrEqual(998)
    expect(await refund).toBe(true)
    await closed
    expect(events.filter(({ type }) => type !== 'refused')).toEqual([])
  })

  it('answers the calls that get no answer as without a store, may be repeated, and ends the limiter', async () => {
    const limiter = open(server.port, 'closed', 20_000)
    await connected(limiter)
    server.signal('SIGSTOP')
    const call = limiter.consume('a')
    const queued = new Promise((resolve) => setImmediate(resolve)).then(() => limiter.close())
    expect(await call).toEqual(unavailable)
    await queued
    await limiter.close()
    await expect(limiter.consume('a')).rejects.toThrow('This limiter is closed')
  })

  it('makes a reset without a store an error that says so', async () => {
    const port = await freePort()
    await expect(open(port, 'open').reset('a')).rejects.toMatchObject({
      name: 'StoreError',
      reason: 'disconnected',
    })
  })
})
