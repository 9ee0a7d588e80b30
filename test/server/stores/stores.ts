import type { Store } from '@ratepact/server'
import { memoryStore } from '@ratepact/server'
import type { RedisClient } from '@ratepact/server/redis'
import { Cluster } from 'ioredis'
import { createClient } from 'redis'
// The script assembler and the constructor that takes other scripts are not for users: only the clock is swapped here.
import { assemble } from '../../../packages/server/lua.js'
import { createRedisStore } from '../../../packages/server/src/redis/store.js'
import { startCluster } from '../../cluster/cluster.js'
import { startRedis } from '../../redis.js'

/** A store under test, on a clock that the test moves. */
export interface StoreUnderTest {
  readonly store: Store
  /** Moves the store's clock, forwards or backwards. */
  advance(ms: number): void
}

export interface Bench {
  readonly name: string
  open(): StoreUnderTest
  start(): Promise<void>
  stop(): Promise<void>
}

const CLOCK = 'local now = ARGV[#ARGV] + 0\n'
/** A wall-clock instant, in µs, of today's size: what is exact here is exact in production. */
const START_US = 1_796_000_000_000_000

/**
 * A script by the clock of its last argument. Redis goes on to expire keys by its own clock, which the test's may be
 * far from, so they live for an hour here; that they live as long as they should is tested with the shipped scripts.
 */
function onHandClock(name: string): string {
  return assemble(name, { 'includes/now': CLOCK })
    .replace(/'PXAT', (?:format\('%d', ceil\(\w+ \/ 1000\)\)|digits\(\w+ \/ 1000\))/g, "'PX', 3600000")
    .replace(/digits\(((policy\.)?length|lasts|ARGV\[\w+\]) \/ 1000\)/g, '3600000')
}

function memoryBench(): Bench {
  return {
    name: 'memory',
    open() {
      let nowMs = START_US / 1000
      return {
        store: memoryStore({ clock: { now: () => nowMs } }),
        advance: (ms) => {
          nowMs += ms
        },
      }
    },
    start: async () => {},
    stop: async () => {},
  }
}

/** Redis through a client that `connect` makes of what was started; the store needs no more of it than its options. */
function redisBench<Server extends { stop(): Promise<void> }>(
  name: string,
  start: () => Promise<Server>,
  connect: (server: Server) => RedisClient,
): Bench {
  let server: Server
  let stores = 0
  return {
    name,
    open() {
      let nowUs = START_US
      const scripts = {
        consume: onHandClock('consume'),
        buckets: onHandClock('buckets'),
        reset: onHandClock('reset'),
        adjust: onHandClock('adjust'),
        lease: onHandClock('lease'),
        block: onHandClock('block'),
        advance: onHandClock('advance'),
        extra: () => [String(nowUs)],
      }
      stores += 1
      return {
        store: createRedisStore(connect(server), { prefix: `test${stores}:`, timeoutMs: 20_000 }, scripts),
        advance: (ms) => {
          nowUs += Math.round(ms * 1000)
        },
      }
    },
    start: async () => {
      server = await start()
    },
    stop: () => server.stop(),
  }
}

export const benches: readonly Bench[] = [
  memoryBench(),
  redisBench('Redis through ioredis 5', startRedis, (redis) => redis.client()),
  redisBench('Redis through ioredis 6', startRedis, (redis) => redis.client(6)),
  redisBench('Redis through node-redis', startRedis, ({ port }) =>
    createClient({ socket: { host: '127.0.0.1', port } }),
  ),
  redisBench(
    'Redis Cluster',
    startCluster,
    ({ addresses }) => new Cluster([...addresses], { lazyConnect: true }),
  ),
]
