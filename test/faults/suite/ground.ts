import type { OnStoreFailure } from '@ratepact/server'
import type { RedisClient } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { startProxy, type TestProxy } from '../../proxy.js'
import { startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'
import { type FakeRedis, startFakeRedis } from '../fake-redis.js'
import type { Fault } from './faults.js'
import { type Load, type Seen, startLoad } from './load.js'
import { type Service, startService } from './service.js'

export type ModeName = 'open' | 'closed' | 'local'

export const modes: Readonly<Record<ModeName, OnStoreFailure>> = {
  open: 'open',
  closed: 'closed',
  local: { local: { instances: 4 } },
}

/** A Redis, what stands between it and a service, and a server that answers in its place what a test wants. */
export interface Ground {
  readonly redis: TestRedis
  readonly proxy: TestProxy
  readonly fake: FakeRedis
  /** A client of Redis itself, past the proxy. */
  readonly admin: Redis
  stop(): Promise<void>
}

export async function startGround(): Promise<Ground> {
  const redis = await startRedis()
  const proxy = await startProxy(redis.port)
  const fake = await startFakeRedis()
  return {
    redis,
    proxy,
    fake,
    admin: redis.client(),
    async stop() {
      await proxy.stop()
      await fake.stop()
      await redis.stop()
    },
  }
}

/** A service under load, and what its users see. */
export interface Watched {
  readonly mode: ModeName
  readonly service: Service
  readonly load: Load
  /** Waits until an answer to a request sent from now on was given by the store. */
  countedByStore(): Promise<void>
  stop(): Promise<void>
}

/** Requests in flight at once for each of the three services. */
const IN_FLIGHT = 5

export async function watch(
  client: RedisClient,
  mode: ModeName,
  timeoutMs: number,
  partition: string = mode,
): Promise<Watched> {
  const service = await startService(client, modes[mode], timeoutMs, partition)
  const load = startLoad(service.port, IN_FLIGHT)
  return {
    mode,
    service,
    load,
    async countedByStore() {
      const before = service.ledger.sure
      await until(`Redis counts again in mode ${mode}`, () => service.ledger.sure > before)
    },
    async stop() {
      await load.stop()
      await service.stop()
    },
  }
}

/** One service for each mode, all of which the store serves; for the length of a test. */
export async function watchAll(
  client: () => RedisClient,
  { is }: Pick<Fault, 'is'>,
  partitionOf: (mode: ModeName) => string = (mode) => mode,
): Promise<readonly Watched[]> {
  // Of an outage a time limit that is soon over; where there is none, one that a busy machine does not exceed.
  const timeoutMs = is === 'outage' ? 200 : 5000
  const names = Object.keys(modes) as ModeName[]
  const watched = await Promise.all(names.map((mode) => watch(client(), mode, timeoutMs, partitionOf(mode))))
  onTestFinished(async () => void (await Promise.all(watched.map((one) => one.stop()))))
  await Promise.all(watched.map((one) => one.countedByStore()))
  return watched
}

export function clientOf(port: number): Redis {
  const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true })
  client.on('error', () => {})
  return client
}

/** Answers to requests sent within a time. */
export function sentWithin(seen: readonly Seen[], fromMs: number, toMs: number): readonly Seen[] {
  return seen.filter(({ sentMs }) => sentMs >= fromMs && sentMs < toMs)
}
