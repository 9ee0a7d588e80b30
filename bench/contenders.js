// Who is measured, each behind one function: `check(key)` → was it allowed. A limit of `limit` that refills so slowly
// that it does not in a run.
import FastifyRedisStore from '@fastify/rate-limit/store/RedisStore.js'
import { createLimiter, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { RedisStore } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'

/** The token bucket of countless articles: a hash, read and written on every call. */
const PLAIN = `
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local state = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(state[1]) or tonumber(ARGV[1])
local at = tonumber(state[2]) or now
tokens = math.min(tonumber(ARGV[1]), tokens + (now - at) * tonumber(ARGV[2]))
local allowed = tokens >= 1 and 1 or 0
if allowed == 1 then tokens = tokens - 1 end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(tonumber(ARGV[1]) / tonumber(ARGV[2]) * 1000))
return { allowed, math.floor(tokens), 0 }
`

const rate = 0.01

export const contenders = {
  'EVALSHA return 1': (client) => {
    client.defineCommand('benchFloor', { numberOfKeys: 1, lua: 'return 1' })
    return { check: async (key) => (await client.benchFloor(`floor:${key}`)) === 1 }
  },
  'plain script': (client, limit) => {
    client.defineCommand('benchPlain', { numberOfKeys: 1, lua: PLAIN })
    return { check: async (key) => (await client.benchPlain(`plain:${key}`, limit, rate))[0] === 1 }
  },
  'rate-limit-redis': (client, limit) => {
    const store = new RedisStore({ sendCommand: (...args) => client.call(...args), prefix: 'rlr:' })
    void store.init({ windowMs: 3_600_000 })
    return { check: async (key) => (await store.increment(key)).totalHits <= limit }
  },
  '@fastify/rate-limit': (client, limit) => {
    const store = new FastifyRedisStore(false, false, client, 'frl:')
    return {
      check: (key) =>
        new Promise((resolve, reject) => {
          const answer = (error, result) => (error ? reject(error) : resolve(result.current <= limit))
          store.incr(key, answer, 3_600_000, limit)
        }),
    }
  },
  'rate-limiter-flexible': (client, limit) => flexible(client, limit, {}),
  'rate-limiter-flexible, in-memory block': (client, limit) =>
    flexible(client, limit, { inMemoryBlockOnConsumed: limit, inMemoryBlockDuration: 60 }),
  ratepact: (client, limit) => ratepact(client, [bucket('burst', limit)], { denyCache: false }),
  'ratepact, deny cache': (client, limit) => ratepact(client, [bucket('burst', limit)], {}),
  'ratepact, two policies': (client, limit) =>
    ratepact(client, [bucket('burst', limit), bucket('long', limit * 2)], { denyCache: false }),
}

const bucket = (name, limit) => tokenBucket({ name, capacity: limit, refillPerSecond: rate })

function ratepact(client, policies, settings) {
  const store = redisStore(client, { timeoutMs: 60_000 })
  const limiter = createLimiter({ store, policies, onStoreFailure: 'closed', ...settings })
  return { check: async (key) => (await limiter.consume(key)).allowed, close: () => limiter.close() }
}

function flexible(client, limit, options) {
  const limiter = new RateLimiterRedis({
    storeClient: client,
    points: limit,
    duration: 3600,
    keyPrefix: 'rlf',
    ...options,
  })
  return {
    check: (key) =>
      limiter.consume(key).then(
        () => true,
        (answer) => {
          if (answer instanceof Error) throw answer
          return false
        },
      ),
  }
}
