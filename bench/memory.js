// Counting in this process: checks per second of the stores alone and of whole decisions, and bytes per client at
// 1 000 000 clients (heap and buffers). Interleaved; each contender's bytes are taken in a process of its own.
// node memory.js [--rounds 5] [--clients 1000000]
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import FastifyLocalStore from '@fastify/rate-limit/store/LocalStore.js'
import { createLimiter, fixedWindow, memoryStore, tokenBucket } from '@ratepact/server'
import { MemoryStore } from 'express-rate-limit'
import { RateLimiterMemory } from 'rate-limiter-flexible'

const option = (name, otherwise) =>
  process.argv.includes(`--${name}`) ? Number(process.argv[process.argv.indexOf(`--${name}`) + 1]) : otherwise
const rounds = option('rounds', 5)
const clients = option('clients', 1_000_000)
const calls = 200_000

const policies = {
  bucket: tokenBucket({ name: 'burst', capacity: 1_000_000, refillPerSecond: 1 }),
  window: fixedWindow({ name: 'hourly', quota: 1_000_000, windowSeconds: 3600 }),
}

function ownStore(policy) {
  const store = memoryStore({ maxBuckets: 2_000_000 })
  // It answers at once; the promise is its limiter's.
  return (value) => {
    const charges = [{ policy, owner: { kind: 'client', value }, cost: 1 }]
    return store.run([{ kind: 'consume', charges, lease: '', blocks: [] }], 1000)[0].admitted
  }
}

function ownLimiter(policy) {
  const limiter = createLimiter({ policies: [policy], store: memoryStore({ maxBuckets: 2_000_000 }) })
  return async (key) => (await limiter.consume(key)).allowed
}

const contenders = {
  'express-rate-limit MemoryStore': () => {
    const store = new MemoryStore()
    store.init({ windowMs: 3_600_000 })
    return async (key) => (await store.increment(key)).totalHits <= 1_000_000
  },
  '@fastify/rate-limit LocalStore': () => {
    const store = new FastifyLocalStore(false, false, 2_000_000)
    return (key) =>
      new Promise((resolve) => {
        store.incr(key, (_, result) => resolve(result.current <= 1_000_000), 3_600_000, 1_000_000)
      })
  },
  'rate-limiter-flexible memory': () => {
    const limiter = new RateLimiterMemory({ points: 1_000_000, duration: 3600 })
    return async (key) => (await limiter.consume(key)).remainingPoints >= 0
  },
  'ratepact memoryStore, token bucket': () => ownStore(policies.bucket),
  'ratepact memoryStore, fixed window': () => ownStore(policies.window),
  'ratepact consume, token bucket': () => ownLimiter(policies.bucket),
  'ratepact consume, fixed window': () => ownLimiter(policies.window),
}

async function perSecond(check, keys) {
  for (let i = 0; i < 20_000; i += 1) await check(`key-${i % keys}`)
  const started = performance.now()
  for (let i = 0; i < calls; i += 1) await check(`key-${(i * 7919) % keys}`)
  return calls / ((performance.now() - started) / 1000)
}

async function bytesPerClient(name) {
  const check = contenders[name]()
  const held = () => {
    globalThis.gc()
    globalThis.gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = held()
  for (let i = 0; i < clients; i += 1) await check(`client-${i}`)
  const bytes = (held() - before) / clients
  // Used after the measurement, so that it is there during it.
  await check('last')
  return bytes
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const shown = (values) =>
  `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`

if (process.argv[2] === '--bytes-of') {
  console.log((await bytesPerClient(process.argv[3])).toFixed(0))
  process.exit()
}
const results = Object.fromEntries(Object.keys(contenders).map((name) => [name, { hot: [], many: [] }]))
for (let round = 0; round < rounds; round += 1)
  for (const [name, make] of Object.entries(contenders)) {
    results[name].hot.push(await perSecond(make(), 1))
    results[name].many.push(await perSecond(make(), 10_000))
  }
const base = results['express-rate-limit MemoryStore']
console.log(
  '| checks/s ÷ express-rate-limit MemoryStore | one key | 10 000 keys | bytes per client |\n|---|---|---|---|',
)
for (const [name, { hot, many }] of Object.entries(results)) {
  const ratios = (own, other) => shown(own.map((value, i) => value / other[i]))
  const args = [
    '--expose-gc',
    fileURLToPath(import.meta.url),
    '--bytes-of',
    name,
    '--clients',
    String(clients),
  ]
  const bytes = execFileSync(process.execPath, args, { encoding: 'utf8' }).trim()
  console.log(`| ${name} | ${ratios(hot, base.hot)} | ${ratios(many, base.many)} | ${bytes} |`)
}
process.exit()
