// Counting in this process: checks per second (of CPU) of the stores alone and of whole decisions, and bytes per client at
// 1 000 000 clients (heap and buffers). Interleaved; each contender's bytes are taken in a process of its own.
// Each store is asked as its own limiter asks it, with nothing put between: a promise is awaited once, and an answer
// that is there is taken as it is.
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
  return {
    ask(value) {
      const charges = [{ policy, owner: { kind: 'client', value }, cost: 1 }]
      return store.run([{ kind: 'consume', charges, lease: '', blocks: [] }], 1000)
    },
    admits: ([reply]) => reply.admitted,
  }
}

function ownLimiter(policy) {
  const limiter = createLimiter({ policies: [policy], store: memoryStore({ maxBuckets: 2_000_000 }) })
  return { ask: (key) => limiter.consume(key), admits: ({ allowed }) => allowed }
}

/** What a check is, and what its answer says. */
const contenders = {
  'express-rate-limit MemoryStore': () => {
    const store = new MemoryStore()
    store.init({ windowMs: 3_600_000 })
    return { ask: (key) => store.increment(key), admits: ({ totalHits }) => totalHits <= 1_000_000 }
  },
  '@fastify/rate-limit LocalStore': () => {
    const store = new FastifyLocalStore(false, false, 2_000_000)
    // Its plugin makes a promise of the callback.
    return {
      ask: (key) =>
        new Promise((resolve) => {
          store.incr(key, (_, result) => resolve(result), 3_600_000, 1_000_000)
        }),
      admits: ({ current }) => current <= 1_000_000,
    }
  },
  'rate-limiter-flexible memory': () => {
    const limiter = new RateLimiterMemory({ points: 1_000_000, duration: 3600 })
    return { ask: (key) => limiter.consume(key), admits: ({ remainingPoints }) => remainingPoints >= 0 }
  },
  'ratepact memoryStore, token bucket': () => ownStore(policies.bucket),
  'ratepact memoryStore, fixed window': () => ownStore(policies.window),
  'ratepact consume, token bucket': () => ownLimiter(policies.bucket),
  'ratepact consume, fixed window': () => ownLimiter(policies.window),
}

/** @throws Error when any is refused: none should be, and a refusal may take less */
async function checkMany({ ask, admits }, count, keyOf) {
  let admitted = 0
  for (let i = 0; i < count; i += 1) {
    const answer = ask(keyOf(i))
    if (admits(answer instanceof Promise ? await answer : answer)) admitted += 1
  }
  if (admitted < count) throw new Error(`${count - admitted} of ${count} were refused`)
}

async function perSecond(contender, keys) {
  await checkMany(contender, 20_000, (i) => `key-${i % keys}`)
  const before = process.cpuUsage()
  await checkMany(contender, calls, (i) => `key-${(i * 7919) % keys}`)
  const { user, system } = process.cpuUsage(before)
  return calls / ((user + system) / 1e6)
}

async function bytesPerClient(name) {
  const contender = contenders[name]()
  const held = () => {
    globalThis.gc()
    globalThis.gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const before = held()
  await checkMany(contender, clients, (i) => `client-${i}`)
  const bytes = (held() - before) / clients
  // Used after the measurement, so that it is there during it.
  await checkMany(contender, 1, () => 'last')
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
