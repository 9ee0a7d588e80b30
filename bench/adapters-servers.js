// One server of those that are measured, in a process of its own: node adapters-servers.js <name> <redis port>. Prints
// its port to the parent, and when asked its CPU and the time. Callers are told apart by x-key; the limit is never met.
import { createServer } from 'node:http'
import fastifyRateLimit from '@fastify/rate-limit'
import { createLimiter, memoryStore, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimitPlugin } from '@ratepact/server/fastify'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import { redisStore } from '@ratepact/server/redis'
import express from 'express'
import { rateLimit as expressRateLimit } from 'express-rate-limit'
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { RedisStore } from 'rate-limit-redis'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { contenders } from './contenders.js'

const [name, redisPort] = process.argv.slice(2)
const LIMIT = 1_000_000_000
const client = () => new Redis({ port: Number(redisPort), host: '127.0.0.1' })
const key = (request) => request.headers['x-key']
const options = (store) => ({
  limiter: createLimiter({
    store,
    policies: [tokenBucket({ name: 'burst', capacity: LIMIT, refillPerSecond: 1 })],
    onStoreFailure: 'closed',
  }),
  partition: key,
})
const inRedis = () => redisStore(client(), { timeoutMs: 60_000 })

function expressWith(middleware) {
  const app = express()
  if (middleware !== undefined) app.use(middleware)
  app.get('/', (_request, response) => response.json({ ok: true }))
  return createServer(app)
}
const peer = (store) =>
  expressRateLimit({
    limit: LIMIT,
    windowMs: 3_600_000,
    keyGenerator: key,
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    ...store,
  })
const flexible = (limiter) => async (request, response, next) => {
  const { remainingPoints, msBeforeNext } = await limiter.consume(key(request))
  response.setHeader('RateLimit', `"burst";r=${remainingPoints};t=${Math.ceil(msBeforeNext / 1000)}`)
  next()
}

async function fastifyWith(register) {
  const app = Fastify()
  await register?.(app)
  app.get('/', async () => ({ ok: true }))
  await app.ready()
  return app.server
}

const answer = (_request, response) => {
  response.setHeader('Content-Type', 'application/json')
  response.end('{"ok":true}')
}

const servers = {
  express: () => expressWith(),
  'express + ratepact, memory': () => expressWith(expressLimit(options(memoryStore()))),
  'express + express-rate-limit, memory': () => expressWith(peer({})),
  'express + rate-limiter-flexible, memory': () =>
    expressWith(flexible(new RateLimiterMemory({ points: LIMIT, duration: 3600 }))),
  'express + ratepact, Redis': () => expressWith(expressLimit(options(inRedis()))),
  'express + express-rate-limit, Redis': () => {
    const redis = client()
    return expressWith(peer({ store: new RedisStore({ sendCommand: (...args) => redis.call(...args) }) }))
  },
  'express + rate-limiter-flexible, Redis': () =>
    expressWith(flexible(new RateLimiterRedis({ storeClient: client(), points: LIMIT, duration: 3600 }))),
  fastify: () => fastifyWith(),
  'fastify + ratepact, memory': () =>
    fastifyWith((app) => app.register(rateLimitPlugin(options(memoryStore())))),
  'fastify + @fastify/rate-limit, memory': () =>
    fastifyWith((app) =>
      app.register(fastifyRateLimit, { max: LIMIT, timeWindow: 3_600_000, keyGenerator: key }),
    ),
  'fastify + ratepact, Redis': () => fastifyWith((app) => app.register(rateLimitPlugin(options(inRedis())))),
  'fastify + @fastify/rate-limit, Redis': () =>
    fastifyWith((app) =>
      app.register(fastifyRateLimit, {
        max: LIMIT,
        timeWindow: 3_600_000,
        keyGenerator: key,
        redis: client(),
      }),
    ),
  'node:http': () => createServer(answer),
  'node:http + ratepact, memory': () => createServer(nodeLimit(options(memoryStore()))(answer)),
  'node:http + ratepact, Redis': () => createServer(nodeLimit(options(inRedis()))(answer)),
  'node:http + plain script, Redis': () => {
    const { check } = contenders['plain script'](client(), LIMIT)
    return createServer(async (request, response) => {
      const allowed = await check(key(request))
      response.setHeader('RateLimit', `"burst";r=${allowed ? 1 : 0}`)
      answer(request, response)
    })
  },
}

if (name === undefined) process.send(Object.keys(servers))
else {
  const server = await servers[name]()
  server.listen(0, '127.0.0.1', () => process.send(server.address().port))
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send({ cpuUs: user + system, atMs: performance.now() })
  })
}
process.on('disconnect', () => process.exit())
