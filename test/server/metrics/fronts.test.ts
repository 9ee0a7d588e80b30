import { fixedWindow } from '@ratepact/server'
import { prometheusMetrics } from '@ratepact/server/prometheus'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { fronts } from '../adapters/fronts.js'
import { exposed } from './scrape.js'

const one = fixedWindow({ name: 'one', quota: 1, windowSeconds: 86_400, anchor: 'first-request' })

describe.each(fronts)('$name', ({ open }) => {
  it('tells metrics the method and the pattern of what is called, whatever its path holds', async () => {
    const register = new Registry()
    const metrics = prometheusMetrics({ register })
    const { ask } = await open([{ policies: [one], partition: () => 'a', metrics, name: 'api' }])
    for (const path of ['/', '/?x=1', '/?x=2']) await ask(path)
    const { all } = await (await exposed(register))()
    expect(all('rate_limit_requests_allowed_total')).toEqual([
      [{ limiter: 'api', endpoint: 'GET /', outcome: 'admitted' }, 1],
    ])
    expect(all('rate_limit_requests_denied_total')).toEqual([
      [{ limiter: 'api', endpoint: 'GET /', policy: 'one', outcome: 'refused' }, 2],
    ])
  })
})
