// How long a job takes against servers that keep limits, and what it costs them: completion ÷ the least time that there
// is, calls that failed, calls that were refused and calls that were sent, side by side with others. One client, then
// four that do not know of each other. Over real HTTP; all servers at once for each contender, who takes turns.
// node pacing.js [contender …]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent as HttpAgent } from 'node:http'
import { createFetch } from '@ratepact/client'
import axios from 'axios'
import axiosRetry from 'axios-retry'
import Bottleneck from 'bottleneck'
import got from 'got'
import ky from 'ky'
import pThrottle from 'p-throttle'
import { Agent, RetryAgent, request } from 'undici'
import { kinds } from './limited-server.js'

/** Each makes a client: a function that calls a URL and fails if the answer is none that helps. */
const contenders = {
  'fetch, as it is': () => plain,
  ratepact: () => {
    const api = createFetch({ maxAttempts: 10, maxWaitSeconds: 60 })
    return async (url) => check(await api(url))
  },
  ky: () => {
    const api = ky.create({ retry: { limit: 10, statusCodes: [429] }, timeout: false })
    return (url) => api.get(url).text()
  },
  got: () => {
    const api = got.extend({ retry: { limit: 10, statusCodes: [429] } })
    return (url) => api.get(url).text()
  },
  'undici RetryAgent': () => {
    const dispatcher = new RetryAgent(new Agent(), { maxRetries: 10, statusCodes: [429] })
    return async (url) => {
      const { statusCode, body } = await request(url, { dispatcher })
      await body.text()
      if (statusCode !== 200) throw new Error(String(statusCode))
    }
  },
  'axios-retry': () => {
    const api = axios.create({ httpAgent: new HttpAgent({ keepAlive: true }) })
    axiosRetry(api, {
      retries: 10,
      retryDelay: axiosRetry.exponentialDelay,
      retryCondition: ({ response }) => response?.status === 429,
    })
    return (url) => api.get(url)
  },
  'bottleneck, told the rate': () => {
    const limiter = new Bottleneck({ minTime: 50 })
    return limiter.wrap(plain)
  },
  'bottleneck, told the quota': (kind) => {
    const { limit, interval } = told(kind)
    const limiter = new Bottleneck({
      reservoir: limit,
      reservoirRefreshAmount: limit,
      reservoirRefreshInterval: interval,
      heartbeatInterval: 50,
    })
    return limiter.wrap(plain)
  },
  'p-throttle, told the quota': (kind) => pThrottle(told(kind))(plain),
  'p-throttle, told the quota, strict': (kind) => pThrottle({ ...told(kind), strict: true })(plain),
}

/** Where several share a quota, each is told its part of it. */
function told({ window, clients }) {
  return window ? { limit: 40 / clients, interval: 2000 } : { limit: 20 / clients, interval: 1000 }
}

async function plain(url) {
  return check(await fetch(url))
}

async function check(response) {
  await response.text()
  if (!response.ok) throw new Error(String(response.status))
}

const longestSeconds = 25
const server = fork(new URL('limited-server.js', import.meta.url))
const [port] = await once(server, 'message')
let runs = 0

async function play(contender, kind, clients, callsOfEach) {
  runs += 1
  const run = runs
  const url = `http://127.0.0.1:${port}/${encodeURIComponent(kind)}/${run}`
  const about = {
    window: kinds[kind].make === kinds['fixed window'].make || kind === 'sliding window',
    clients,
  }
  const started = performance.now()
  let failed = clients * callsOfEach
  let lastMs = started
  const one = () => {
    const call = contenders[contender](about)
    return Array.from({ length: callsOfEach }, async () => {
      try {
        await call(url)
        failed -= 1
        lastMs = performance.now()
      } catch {}
    })
  }
  const calls = Array.from({ length: clients }, one).flat()
  const late = new Promise((resolve) => setTimeout(resolve, longestSeconds * 1000).unref())
  await Promise.race([Promise.all(calls), late])
  const seconds = (lastMs - started) / 1000
  const counted = await fetch(`http://127.0.0.1:${port}/counts/${run}`)
  return { failed, ratio: seconds / kinds[kind].ideal(clients * callsOfEach), ...(await counted.json()) }
}

const wanted = process.argv.slice(2)
const loads = { 'one client, 100 calls at once': [1, 100], 'four clients, 38 calls each': [4, 38] }
const results = new Map()
for (const contender of Object.keys(contenders)) {
  if (wanted.length > 0 && !wanted.includes(contender)) continue
  // Once before it counts, so that nobody pays for what is compiled and connected at first.
  await play(contender, 'bucket', 1, 20)
  for (const [load, [clients, callsOfEach]] of Object.entries(loads)) {
    const all = Object.keys(kinds).map(async (kind) => {
      results.set(`${load} ${kind} ${contender}`, await play(contender, kind, clients, callsOfEach))
    })
    await Promise.all(all)
  }
}

for (const [load, [clients, callsOfEach]] of Object.entries(loads)) {
  for (const kind of Object.keys(kinds)) {
    console.log(`\n${load}; ${kind} (ideal: ${kinds[kind].ideal(clients * callsOfEach)} s)`)
    for (const contender of Object.keys(contenders)) {
      const result = results.get(`${load} ${kind} ${contender}`)
      if (result === undefined) continue
      const { ratio, failed, refused, sends } = result
      // Who gives calls up is done early: what the time would be is not known.
      const time = failed > 0 ? '     –' : `${ratio.toFixed(2)} ×`
      console.log(`  ${contender.padEnd(36)} ${time}   ${failed} failed, ${refused} × 429, ${sends} sent`)
    }
  }
}
server.disconnect()
process.exit()
