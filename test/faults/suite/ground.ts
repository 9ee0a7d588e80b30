import type { OnStoreFailure } from '@ratepact/server'
import { Redis } from 'ioredis'
import { startProxy, type TestProxy } from '../../proxy.js'
import { startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'
import { type FakeRedis, startFakeRedis } from '../fake-redis.js'
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

export async function watch(client: Redis, mode: ModeName, timeoutMs: number): Promise<Watched> {
  const service = await startService(client, modes[mode], timeoutMs)
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

export function clientOf(port: number): Redis {
  const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true })
  client.on('error', () => {})
  return client
}

/** Answers to requests sent within a time. */
export function sentWithin(seen: readonly Seen[], fromMs: number, toMs: number): readonly Seen[] {
  return seen.filter(({ sentMs }) => sentMs >= fromMs && sentMs < toMs)
}
