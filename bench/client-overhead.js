// What a paced call costs beside a bare fetch: latency of calls made one after another, and CPU of this process per call,
// one after another and 64 at once. The server is another process; all ways are measured in turn in each round, and what
// is shown is the ratio to the bare way of the same round: median and range.
// node client-overhead.js [--rounds 15] [--calls 400]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createFetch } from '@ratepact/client'

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
const { signal } = new AbortController()

/** Each group is measured against its first. */
const groups = [
  {
    'fetch, no limits stated': whole(fetch, '/none'),
    'ratepact, no limits stated': whole(paced(), '/none'),
  },
  {
    'fetch, one bucket stated': whole(fetch, '/bucket'),
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
for (let round = -2; round < rounds; round += 1) {
  for (const [index, group] of groups.entries()) {
    const order = Object.entries(group)
    if (round % 2 !== 0) order.reverse()
    for (const [name, call] of order) {
      const result = await measure(call)
      // The first rounds warm everything up.
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
server.disconnect()
