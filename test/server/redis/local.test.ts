import { createLimiter, fixedWindow, type LimiterEvent, StoreError } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { startProxy } from '../../proxy.js'
import { startRedis } from '../../redis.js'
import { until } from '../../wait.js'

// A window that neither ends nor begins while a test runs.
const policies = [fixedWindow({ name: 'year', quota: 100, windowSeconds: 366 * 86_400 })]

async function start() {
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  const open = (events: LimiterEvent[] = []) => {
    const client = new Redis({ port: proxy.port, host: '127.0.0.1', lazyConnect: true })
    client.on('error', () => {})
    const limiter = createLimiter({
      policies,
      store: redisStore(client, { timeoutMs: 500 }),
      onStoreFailure: { local: { instances: 4 } },
      onEvent: (event) => events.push(event),
    })
    onTestFinished(() => limiter.close())
    return limiter
  }
  onTestFinished(async () => {
    await proxy.stop()
    await server.stop()
  })
  return { server, proxy, open }
}

type Limiter = ReturnType<Awaited<ReturnType<typeof start>>['open']>

async function available(limiter: Limiter): Promise<number | undefined> {
  const decision = await limiter.peek('a')
  return decision.source === 'store' && 'limits' in decision ? decision.limits[0]?.available : undefined
}

const admitted = async (limiter: Limiter, calls: number) => {
  const decisions = await Promise.all(Array.from({ length: calls }, () => limiter.consume('a')))
  expect(decisions.every(({ source }) => source === 'local')).toBe(true)
  return decisions.filter(({ allowed }) => allowed).length
}

it('4 processes without Redis admit one quota together, and charge it when Redis is back, with no call to wait for', async () => {
  const { server, open } = await start()
  const events: LimiterEvent[][] = [[], [], [], []]
  const fleet = events.map((heard) => open(heard))
  for (const limiter of fleet) await until('it answers', async () => (await available(limiter)) === 100)
  server.signal('SIGKILL')
  for (const [i, limiter] of fleet.entries()) {
    // Until the loss of the connection is seen, what is written to it may have been carried out.
    await until('nothing is sent', async () => {
      await limiter.peek('nobody')
      return (events[i] ?? []).some(
        (event) => 'error' in event && event.error instanceof StoreError && !event.error.mayHaveRun,
      )
    })
    expect(await admitted(limiter, 60)).toBe(25)
  }
  await server.restart()
  const other = server.client()
  await until('all is charged', async () => (await other.exists('rl1:{client:a}')) === 1)
  const onlooker = createLimiter({ policies, store: redisStore(other) })
  onTestFinished(() => onlooker.close())
  await until('all is charged', async () => (await available(onlooker)) === 0)
})

it('a call that was sent and whose answer was cut off is charged once', async () => {
  const { proxy, open } = await start()
  const limiter = open()
  await until('it answers', async () => (await available(limiter)) === 100)
  proxy.replies('cut')
  expect(await limiter.consume('a', { cost: 7 })).toMatchObject({ source: 'local', allowed: true })
  proxy.replies('pass')
  await until('it answers', async () => (await available(limiter)) !== undefined)
  expect(await available(limiter)).toBe(93)
  await limiter.consume('another')
  expect(await available(limiter)).toBe(93)
})

it.each([
  ['has no memory left', ['maxmemory', '1'], ['maxmemory', '0']],
  ['has too few replicas', ['min-replicas-to-write', '1'], ['min-replicas-to-write', '0']],
] as const)('a Redis that %s and is read all the same has the share granted once', async (_, fault, cure) => {
  const { server, open } = await start()
  const events: LimiterEvent[] = []
  const limiter = open(events)
  await until('it answers', async () => (await available(limiter)) === 100)
  const other = server.client()
  await other.config('SET', ...fault)
  let count = 0
  for (let call = 0; call < 40; call += 1) {
    await limiter.peek('a')
    if ((await limiter.consume('a')).allowed) count += 1
  }
  expect(count).toBe(25)
  expect(events.some(({ type }) => type === 'recovered')).toBe(false)
  await other.config('SET', ...cure)
  await until('all is charged', async () => (await available(limiter)) === 75)
  expect(events.filter(({ type }) => type === 'recovered').length).toBe(1)
})
