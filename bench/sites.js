// How many allocation sites a call passes: node sites.js [scenario]. V8 watches each object and array literal, and `new
// Array`, while they are young in age: where most of what one has made outlives a collection, as all does that a burst of
// calls has in flight, its objects are made among the old ones from then on, for ever. There they are not collected with
// the young, and keep alive what they refer to: a request to a server then costs a third more. What a class or a rest
// parameter makes has no site. So the aim is none, for all that is done for each call.
import { execFile } from 'node:child_process'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createFetch } from '@ratepact/client'
import { createLimiter, memoryStore, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { startRedis } from './redis.js'

const CALLS = 397
const policies = [tokenBucket({ name: 'burst', capacity: 1e6, refillPerSecond: 1 })]
const consume = (limiter) => (i) => limiter.consume(`key-${i % 7}`)

/** Node's request and response, as far as an adapter looks, with the literals of this file made beforehand. */
class Request {
  method = 'GET'
  url = '/'
  originalUrl = '/'
  path = '/'
  baseUrl = ''
  headers = HEADERS
  socket = SOCKET
  rawHeaders = Array.of()
}
const HEADERS = { 'x-key': 'a' }
const SOCKET = { remoteAddress: '127.0.0.1' }
class Response {
  statusCode = 200
  headersSent = false
  req = new Request()
  headers = new Map()
  getHeader(name) {
    return this.headers.get(name)
  }
  setHeader(name, value) {
    this.headers.set(name, value)
  }
  writeHead() {
    this.headersSent = true
  }
  end() {
    this.writeHead(200)
  }
}
function ask(limit) {
  return () => {
    const response = new Response()
    limit(response.req, response)
    return response
  }
}
const mounted = (limit) => (request, response) => limit(request, response, () => response.end())

const scenarios = {
  none: () => () => new Request(),
  memory: () => consume(createLimiter({ store: memoryStore(), policies })),
  'memory, refused': () =>
    consume(
      createLimiter({
        store: memoryStore(),
        denyCache: false,
        policies: [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 1e-6 })],
      }),
    ),
  'deny cache': () =>
    consume(
      createLimiter({
        store: memoryStore(),
        policies: [tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 1e-6 })],
      }),
    ),
  'memory, two policies': () =>
    consume(
      createLimiter({
        store: memoryStore(),
        policies: [...policies, tokenBucket({ name: 'daily', capacity: 1e6, refillPerSecond: 1 })],
      }),
    ),
  Redis: (redis) => consume(createLimiter({ store: redisStore(redis, { timeoutMs: 60_000 }), policies })),
  'node:http': () =>
    ask(
      nodeLimit({ policies, partition: ({ headers }) => headers['x-key'] })((_request, response) =>
        response.end(),
      ),
    ),
  Express: () => ask(mounted(expressLimit({ policies, partition: ({ headers }) => headers['x-key'] }))),
  'client, nothing stated': () => {
    const answer = new globalThis.Response('{}')
    const api = createFetch({ fetch: async () => answer.clone() })
    return () => api('http://127.0.0.1/')
  },
  'client, one bucket': () => {
    const headers = { RateLimit: '"burst";r=100000;t=1', 'RateLimit-Policy': '"burst";q=100000;w=1' }
    const answer = new globalThis.Response('{}', { headers })
    const api = createFetch({ fetch: async () => answer.clone() })
    return () => api('http://127.0.0.1/')
  },
}

const name = process.argv[2]
if (name === undefined) {
  for (const each of Object.keys(scenarios)) {
    const flags = ['--expose-gc', '--trace-pretenuring-statistics']
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...flags,
      fileURLToPath(import.meta.url),
      each,
    ])
    const asked = stdout.slice(stdout.indexOf('BEGIN'))
    const made = [...asked.matchAll(/AllocationSite\(\w+\): \(created, found, ratio\) \((\d+),/g)]
    const once = made.filter(([, created]) => Number(created) >= CALLS * 0.9)
    console.log(`${each}: ${once.length}`)
  }
} else {
  const redis = name === 'Redis' ? await startRedis() : undefined
  const client = redis && new Redis({ port: redis.port, host: '127.0.0.1' })
  const call = scenarios[name](client)
  await call(0)
  gc({ type: 'minor' })
  await turn()
  console.log('BEGIN')
  const kept = new Set()
  for (let i = 0; i < CALLS; i += 1) kept.add(call(i))
  await Promise.allSettled(kept)
  await turn()
  gc({ type: 'minor' })
  client?.disconnect()
  await redis?.stop()
  process.exit()
}
