import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { register } from 'prom-client'
import { expect, it, onTestFinished, vi } from 'vitest'
import { scrapedFrom } from './scrape.js'

it('the program of docs/metrics.md shows what it refuses', async () => {
  vi.stubEnv('PORT', '0')
  const { server } = await import('../../../examples/metrics.js')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    register.clear()
    vi.unstubAllEnvs()
  })
  if (!server.listening) await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const statuses: number[] = []
  for (let order = 0; order < 7; order += 1) {
    const { status } = await fetch(`${base}/orders/${order}`, {
      headers: { 'x-account': `made up ${order}` },
    })
    statuses.push(status)
  }
  const refused = statuses.filter((status) => status === 429).length
  expect(refused).toBeGreaterThan(0)

  const { value } = scrapedFrom(await (await fetch(`${base}/metrics`)).text())
  const route = { limiter: 'orders', endpoint: 'GET /orders/:id' }
  expect(value('rate_limit_requests_allowed_total', route)).toBe(7 - refused)
  expect(value('rate_limit_requests_denied_total', { ...route, policy: 'burst' })).toBe(refused)
  expect(value('rate_limit_top_refusals', { kind: 'client', partition: '127.0.0.1' })).toBe(refused)
})
