// What a paced call costs beside a bare fetch: latency of calls made one after another, and CPU of this process per call,
// one after another and 64 at once. The server is another process; all ways are measured in turn in each round, and what
// is shown is the ratio to the bare way of the same round: median and range.
// node client-overhead.js [--rounds 15] [--calls 400]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createFetch } from '@ratepact/client'
import { readRateLimitFields } from '@ratepact/contract'

const option = (name, otherwise) =>
  process.argv.includes(`--${name}`) ? Number(process.argv[process.argv.indexOf(`--${name}`) + 1]) : otherwise
const rounds = option('rounds', 15)
const calls = option('calls', 400)

const server = fork(new URL('loopback.js', import.meta.url))
const [port] = await once(server, 'message')
const url = (path) => `http://127.0.0.1:${port}${path}`

const paced = () => createFetch()
const whole = (send, path, init) => async () => {
  const response = await send(url(path), init?.())
  await response.arrayBuffer()
}
/** Reading what an answer states, and nothing else: no client can do with less. */
const reading = async (input, init) => {
  const response = await fetch(input, init)
  readRateLimitFields((name) => response.headers.get(name))
  return response
}
/** 20 µs of work that has nothing to do with limits: what the machine makes of those. */
const busy = async (input) => {
  const response = await fetch(input)
  const endMs = performance.now() + 0.02
  while (performance.now() < endMs);
  return response
}
const { signal } = new AbortController()

/** Each group is measured against its first. */
const groups = [
  {
    'fetch, no limits stated': whole(fetch, '/none'),
    'fetch, and 20 µs of any work': whole(busy, '/none'),
    'ratepact, no limits stated': whole(paced(), '/none'),
  },
  {
    'fetch, one bucket stated': whole(fetch, '/bucket'),
    'fetch, the fields read': whole(reading, '/bucket'),
    'ratepact, one bucket stated': whole(paced(), '/bucket'),
  },
  {
    'fetch, two policies stated': whole(fetch, '/two'),
    'ratepact, two policies stated': whole(paced(), '/two'),
  },
  {
    'fetch, one bucket and a signal': whole(fetch, '/bucket', () => ({ signal })),
    'ratepact, one bucket and a signal': whole(paced(), '/bucket', () => ({ signal })),
  },
  await undiciGroup(),
]

/** With undici's own request in place of fetch, where both are installed. */
async function undiciGroup() {
  const [undici, own] = await Promise.all(
    ['undici', '@ratepact/client/undici'].map((name) => import(name).catch(() => undefined)),
  )
  if (undici === undefined || own === undefined) return {}
  const through = (dispatcher) => async () => {
    const { body } = await undici.request(url('/bucket'), { dispatcher })
    await body.arrayBuffer()
  }
  return {
    'undici.request': through(new undici.Agent()),
    'undici.request, interceptor': through(new undici.Agent().compose(own.pace())),
  }
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]

async function cpuUsPer(run) {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}

async function measure(call) {
  const latencies = []
  const cpu = await cpuUsPer(async () => {
    for (let i = 0; i < calls; i += 1) {
      const startedMs = performance.now()
      await call()
      latencies.push(performance.now() - startedMs)
    }
  })
  let left = calls
  const worker = async () => {
    while (left-- > 0) await call()
  }
  const cpuAtOnce = await cpuUsPer(() => Promise.all(Array.from({ length: 64 }, worker)))
  return { latency: median(latencies) * 1000, cpu, cpuAtOnce }
}

const results = groups.map((group) => Object.fromEntries(Object.keys(group).map((name) => [name, []])))
for (let round = -4; round < rounds; round += 1) {
  for (const [index, group] of groups.entries()) {
    const order = Object.entries(group)
    if (round % 2 !== 0) order.reverse()
    for (const [name, call] of order) {
      const result = await measure(call)
      // The first rounds warm everything up: fetch alone becomes faster until it has been called some 5000 times.
      if (round >= 0) results[index][name].push(result)
    }
  }
}

const two = (number) => number.toFixed(2)
for (const group of results) {
  const [bare] = Object.values(group)
  for (const [name, own] of Object.entries(group)) {
    const cells = ['latency', 'cpu', 'cpuAtOnce'].map((what) => {
      const us = median(own.map((each) => each[what])).toFixed(0)
      const ratios = own.map((each, round) => each[what] / bare[round][what])
      const range =
        own === bare
          ? ''
          : `, ${two(median(ratios))} × (${two(Math.min(...ratios))}–${two(Math.max(...ratios))})`
      return `${what} ${us} µs${range}`
    })
    console.log(`${name.padEnd(36)} ${cells.join('   ')}`)
  }
}

/**
 * µs of its own that a call takes, before the fetch and after the answer: around a real one, between which the processor
 * has other things to do, and around one that has its answer at once, in a loop.
 */
async function ownUs(path, send) {
  let sentMs = 0
  let answeredMs = 0
  const api = createFetch({
    fetch: (input, init) => {
      sentMs = performance.now()
      return send(input, init).finally(() => {
        answeredMs = performance.now()
      })
    },
  })
  const own = []
  for (let i = 0; i < 6000; i += 1) {
    const startedMs = performance.now()
    const response = await api(url(path))
    if (i >= 4000) own.push(performance.now() - answeredMs + sentMs - startedMs)
    if (send === fetch) await response.arrayBuffer()
  }
  return median(own) * 1000
}

for (const path of ['/none', '/bucket']) {
  const { headers } = await fetch(url(path))
  const answer = new Response(null, { headers })
  const [real, looped] = [await ownUs(path, fetch), await ownUs(path, async () => answer)]
  console.log(`${path}: ${real.toFixed(1)} µs of its own a call, ${looped.toFixed(1)} µs in a loop`)
}
server.disconnect()

/** µs for each of so many calls to begin to wait, and to be let go of. */
async function waitingUs(count) {
  const answer = new Response(null, {
    headers: {
      RateLimit: '"slow";r=0;t=3600',
      'RateLimit-Policy': '"slow";q=1;w=3600;ratepact-refill="bucket"',
    },
  })
  const api = createFetch({ fetch: async () => answer, maxQueue: count, maxWaitSeconds: 31_536_000 })
  await api('http://127.0.0.1/')
  const started = performance.now()
  const calls = Array.from({ length: count }, () => api('http://127.0.0.1/').catch(() => {}))
  const waiting = performance.now()
  await api.close()
  await Promise.all(calls)
  const ended = performance.now()
  return [waiting - started, ended - waiting].map((ms) => (ms * 1000) / count)
}

for (const count of [100, 100, 1000, 3000, 8000]) {
  const [begin, end] = await waitingUs(count)
  console.log(`${count} calls wait: each ${begin.toFixed(1)} µs to begin, ${end.toFixed(1)} µs to end`)
}

/** µs for a call while so many partitions that were used before are idle. */
async function besideIdleUs(count) {
  const api = createFetch({ fetch: async () => new Response(null) })
  for (let i = 0; i < count; i += 1) await api(`http://127.0.0.1:${i + 1}/`)
  const started = performance.now()
  for (let i = 0; i < 20_000; i += 1) await api('http://127.0.0.1/')
  return (performance.now() - started) / 20
}

for (const count of [0, 0, 10, 1000]) {
  console.log(`${count} partitions idle: ${(await besideIdleUs(count)).toFixed(1)} µs a call`)
}
