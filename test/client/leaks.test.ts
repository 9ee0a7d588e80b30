import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createFetch } from '@ratepact/client'
import { Agent, fetch as undiciFetch } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { respond } from './fake.js'
import { serve, until } from './http.js'

const url = 'http://api.test/'
// Generous, for machines that do much else at once.
const timeout = 300_000
/** A refusal that may be over at once. */
const refusal = { 'retry-after': '1', 'retry-after-ms': '1', ratelimit: '"a";r=0;t=1;ratepact-t-ms=1' }
const plenty = {
  ratelimit: '"a";r=99999;t=1',
  'ratelimit-policy': '"a";q=100000;w=1;ratepact-refill="bucket"',
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Memory in use once everything unreachable is gone. */
async function heapBytes(): Promise<number> {
  for (let round = 0; round < 5; round += 1) {
    collect()
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return process.memoryUsage().heapUsed
}

/** The machine's own, with a count of the timers that are set. */
function countingClock() {
  const timers = new Set<unknown>()
  return {
    timers,
    now: () => performance.now(),
    setTimeout(run: () => void, ms: number): unknown {
      const timer = setTimeout(() => {
        timers.delete(timer)
        run()
      }, ms)
      timers.add(timer)
      return timer
    },
    clearTimeout(timer: unknown): void {
      timers.delete(timer)
      clearTimeout(timer as NodeJS.Timeout)
    },
  }
}

describe('one signal', () => {
  it('over 100 000 calls keeps no listener, and no memory of them', { timeout }, async () => {
    const { signal } = new AbortController()
    const api = createFetch({ fetch: async () => respond(204) })
    const run = async (calls: number): Promise<void> => {
      for (let call = 0; call < calls; call += 1) await api(url, { signal })
    }
    await run(10_000)
    const before = await heapBytes()
    await run(90_000)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    // Ten bytes for each call would be more.
    expect((await heapBytes()) - before).toBeLessThan(900_000)
  })

  for (const [what, read] of [
    ['read', (response: Response) => response.text()],
    ['never read', async () => {}],
  ] as const) {
    it(`over thousands of answers keeps none of them, their bodies ${what}`, { timeout }, async () => {
      const { signal } = new AbortController()
      const api = createFetch({ fetch: async () => respond(200) })
      const run = async (calls: number): Promise<void> => {
        for (let call = 0; call < calls; call += 1) await read(await api(url, { signal }))
        while (getEventListeners(signal, 'abort').length > 0) await heapBytes()
      }
      await run(2000)
      const before = await heapBytes()
      await run(4000)
      // A body and its listener are more than a kilobyte.
      expect((await heapBytes()) - before).toBeLessThan(1_000_000)
    })
  }
})

describe('10 000 calls of which many are refused', () => {
  it('leave no timer, no listener and no wait behind, however they end', { timeout }, async () => {
    const clock = countingClock()
    const { signal } = new AbortController()
    let sent = 0
    const fetch = async (): Promise<Response> => {
      sent += 1
      if (sent % 500 === 7) throw new TypeError('fetch failed')
      return sent % 500 === 5 ? respond(429, refusal) : respond(204, plenty)
    }
    const api = createFetch({
      fetch,
      clock,
      maxQueue: 10_000,
      maxWaitSeconds: 250,
      attemptTimeoutSeconds: 60,
    })
    const calls = Array.from({ length: 10_000 }, () => api(url, { signal }).catch(() => {}))
    await Promise.all(calls)
    expect(sent).toBeGreaterThan(10_000)
    await until(() => clock.timers.size === 0)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(api.queue).toEqual({ waiting: 0, inFlight: 0, partitions: [] })
  })

  it('need no more connections than a pool has, and leave none busy', { timeout }, async () => {
    const server = await serve((_seen, response, number) => {
      if (number % 500 === 5) response.writeHead(429, refusal).end('later'.repeat(1000))
      else response.writeHead(200, plenty).end('ok')
    })
    const dispatcher = new Agent({ connections: 4, pipelining: 1 })
    onTestFinished(() => dispatcher.destroy())
    const api = createFetch({ fetch: undiciFetch, maxWaitSeconds: 250 })
    let left = 10_000
    const worker = async (): Promise<void> => {
      for (; left > 0; left -= 1) {
        const response = await api(server.url, { dispatcher } as RequestInit)
        expect(response.status).toBe(200)
        await response.text()
      }
    }
    await Promise.all(Array.from({ length: 10 }, worker))
    expect(server.connections).toBeLessThanOrEqual(4)
    await until(() => server.open === 0)
  })
})
