// How long decisions take when Redis fails: the 99th percentile in the first second of an outage beside the one before
// it, after the breaker has opened, and how long until Redis counts again. One process, calls without HTTP.
// node faults.js [--timeout 50] [--calls 16]
import { setTimeout as pause } from 'node:timers/promises'
import { createLimiter, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Redis } from 'ioredis'
import { startRedis } from './redis.js'

const option = (name, otherwise) =>
  process.argv.includes(`--${name}`) ? Number(process.argv[process.argv.indexOf(`--${name}`) + 1]) : otherwise
const timeoutMs = option('timeout', 50)
const inFlight = option('calls', 16)

const outages = {
  'stopped, continued': {
    strike: (redis) => redis.signal('SIGSTOP'),
    mend: (redis) => redis.signal('SIGCONT'),
  },
  'killed, started again': {
    strike: (redis) => redis.signal('SIGKILL'),
    mend: (redis) => redis.restart(),
  },
}

function percentile(times, part) {
  const sorted = times.map(({ ms }) => ms).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** Calls that go on, each after a pause of 2 ms, until they are stopped. */
function startCalls(limiter) {
  const times = []
  let stopped = false
  const caller = async () => {
    while (!stopped) {
      const atMs = performance.now()
      const { source } = await limiter.consume('a')
      times.push({ atMs, ms: performance.now() - atMs, source })
      await pause(2)
    }
  }
  const callers = Array.from({ length: inFlight }, caller)
  return {
    times,
    stop: () => {
      stopped = true
      return Promise.all(callers)
    },
  }
}

async function measure(mode, { strike, mend }) {
  const redis = await startRedis()
  const client = new Redis({ port: redis.port, host: '127.0.0.1', lazyConnect: true })
  client.on('error', () => {})
  let openedMs
  const limiter = createLimiter({
    policies: [tokenBucket({ name: 'calls', capacity: 1_000_000, refillPerSecond: 1 })],
    store: redisStore(client, { timeoutMs }),
    onStoreFailure: mode === 'local' ? { local: { instances: 4 } } : mode,
    onEvent: (event) => {
      if (event.type === 'breaker' && event.state === 'open') openedMs ??= performance.now()
    },
  })
  const calls = startCalls(limiter)
  await pause(2000)
  openedMs = undefined
  const struckMs = performance.now()
  strike(redis)
  await pause(3000)
  const mendedMs = performance.now()
  await mend(redis)
  const upMs = performance.now()
  const isBack = ({ atMs, ms, source }) => source === 'store' && atMs + ms > mendedMs
  for (let waited = 0; waited < 2000 && !calls.times.some(isBack); waited += 1) await pause(5)
  await calls.stop()
  const back = calls.times.find(isBack)
  await limiter.close()
  client.disconnect()
  await redis.stop()
  const between = (from, to) => calls.times.filter(({ atMs }) => atMs >= from && atMs < to)
  return {
    baseline: percentile(between(struckMs - 1000, struckMs - 100), 0.99),
    first: percentile(between(struckMs, struckMs + 1000), 0.99),
    open: percentile(between(openedMs ?? Number.NaN, mendedMs), 0.99),
    // A server that is started again can be connected to a little before it has been seen to answer.
    back: back === undefined ? Number.NaN : Math.max(0, back.atMs + back.ms - upMs),
  }
}

const round = (ms) => ms.toFixed(1).padStart(8)
const verdict = (ok) => (ok ? 'kept' : 'MISSED')
console.log(`Node ${process.version}, deadline ${timeoutMs} ms, ${inFlight} calls in flight; p99 in ms`)
console.log('outage                 mode     before first s  b. open  back ms  bounds')
for (const [name, outage] of Object.entries(outages))
  for (const mode of ['open', 'closed', 'local']) {
    const { baseline, first, open, back } = await measure(mode, outage)
    const kept = [first <= baseline + timeoutMs + 50, open <= baseline + 10, back <= 1000].map(verdict)
    const figures = [baseline, first, open, back].map(round).join(' ')
    console.log(`${name.padEnd(22)} ${mode.padEnd(6)} ${figures}  ${kept.join(' / ')}`)
  }
