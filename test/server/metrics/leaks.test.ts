import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLimiter, fixedWindow, memoryStore } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'
import { prometheusMetrics } from '@ratepact/server/prometheus'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { exposed } from './scrape.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function heapBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

it('100 000 requests, each with an address, a path and a key of its own, leave as many series as documented and no heap', async () => {
  const register = new Registry()
  const metrics = prometheusMetrics({ register, top: 10, maxEndpoints: 20 })
  const limiter = createLimiter({
    policies: [
      fixedWindow({ name: 'address', quota: 1, windowSeconds: 3600, by: 'address' }),
      fixedWindow({ name: 'key', quota: 1, windowSeconds: 3600, by: 'key' }),
    ],
    store: memoryStore({ maxBuckets: 1000 }),
    metrics,
  })
  // What a server is sent, each part of it a part of a longer text, as headers and paths are.
  const sent = (nth: number) => {
    const address = `10.${nth >> 16}.${(nth >> 8) & 255}.${nth & 255}`
    return `${address}, ${nth}\n/${'long '.repeat(nth % 50)}/${nth}\n${nth} ${'k'.repeat(nth % 300)}`.split(
      '\n',
    )
  }
  const limit = rateLimit({
    limiter,
    partition(_request: Request, [address, , key]: string[]) {
      return { address, key }
    },
    // What no program should do: whatever is asked for is a scope.
    scope: (_request: Request, [, path = '']: string[]) => path,
    cost: (_request: Request, [address]: string[]) => (address?.endsWith('7') ? 2 : 1),
    headers: false,
  })
  const answer = new Response(null)
  const handler = limit((_request: Request, _sent: string[]) => answer)
  const scrape = await exposed(register)
  const upTo = async (from: number, to: number) => {
    for (let nth = from; nth < to; nth += 1) await handler(new Request('http://127.0.0.1/'), sent(nth))
  }

  await upTo(0, 20_000)
  const before = { heap: heapBytes(), series: (await scrape()).series.size }
  await upTo(20_000, 100_000)
  const { series, value, all } = await scrape()
  const grown = heapBytes() - before.heap

  // 20 endpoints and `other`, allowed and denied by either policy; durations of who decided; a ratio for each policy; the breaker;
  // 10 of the top; buckets that a full store forgot.
  const counted = [...all('rate_limit_requests_allowed_total'), ...all('rate_limit_requests_denied_total')]
  expect(new Set(counted.map(([{ endpoint }]) => endpoint)).size).toBe(21)
  for (const [{ endpoint }] of counted) expect(endpoint?.length).toBeLessThanOrEqual(128)
  expect(all('rate_limit_top_refusals').length).toBe(10)
  expect(series.size).toBeLessThanOrEqual(21 + 2 * 21 + 2 * 14 + 2 * 12 + 1 + 10 + 2)
  expect(series.size).toBe(before.series)
  expect(value('rate_limit_requests_allowed_total', { endpoint: 'other' })).toBeGreaterThan(85_000)
  expect(counted.reduce((sum, [, count]) => sum + count, 0)).toBe(100_000)
  expect(grown).toBeLessThan(2_000_000)
}, 60_000)

it('of a long text, no more is kept than the part that is shown', async () => {
  const metrics = prometheusMetrics({ register: new Registry(), maxEndpoints: 100 })
  const limiter = createLimiter({
    policies: [fixedWindow({ name: 'one', quota: 1, windowSeconds: 3600 })],
    metrics,
  })
  const before = heapBytes()
  for (let nth = 0; nth < 200; nth += 1) {
    const text = `client number ${nth}, scope number ${nth} ${'x'.repeat(300_000)}`
    const [client = '', scope = ''] = text.split(', ')
    await limiter.consume(client, { cost: 2, scope: scope.slice(0, 100) })
    await limiter.consume(text.slice(0, 200), { cost: 2, scope })
  }
  expect(limiter.top(256).length).toBe(256)
  expect(heapBytes() - before).toBeLessThan(3_000_000)
})
