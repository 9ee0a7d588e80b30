import { RateLimitError } from '@ratepact/client'
import { describe, expect, it } from 'vitest'
import { client as axios } from '../../examples/axios.js'
import { client as got } from '../../examples/got.js'
import { client as ky } from '../../examples/ky.js'
import { connect } from '../../examples/openapi-fetch.js'
import { order as undici } from '../../examples/undici.js'
import { inTurn, serve } from './http.js'

/** An API that allows five calls at once and ten a second, and refuses the first call to it as well. */
async function startApi() {
  const statuses: number[] = []
  let [units, atMs] = [5, performance.now()]
  const server = await serve((seen, response, number) => {
    units = Math.min(5, units + (seen.atMs - atMs) / 100)
    atMs = seen.atMs
    const admitted = number > 1 && units >= 1
    if (admitted) units -= 1
    const left = admitted ? Math.floor(units) : 0
    const limits = { 'RateLimit-Policy': '"burst";q=5;w=1;ratepact-refill="bucket";ratepact-rate=10' }
    statuses.push(admitted ? 200 : 429)
    response.writeHead(statuses.at(-1) ?? 0, {
      ...limits,
      RateLimit: `"burst";r=${left};t=1;ratepact-t-ms=${left === 0 ? 100 : left * 100}`,
      ...(admitted ? {} : { 'Retry-After': '1', 'retry-after-ms': '100' }),
      'content-type': 'application/json',
    })
    response.end(JSON.stringify({ ordered: admitted ? JSON.parse(seen.body.toString()).item : 'nothing' }))
  })
  return { url: server.url, statuses }
}

const order: Readonly<Record<string, (url: string, item: string) => Promise<unknown>>> = {
  ky: (url, item) => ky.post(`${url}/orders`, { json: { item } }).json(),
  axios: async (url, item) => (await axios.post(`${url}/orders`, { item })).data,
  got: (url, item) => got.post(`${url}/orders`, { json: { item } }).json(),
  undici,
  'openapi-fetch': async (url, item) => (await connect(url).POST('/orders', { body: { item } })).data,
}

describe.each(Object.entries(order))('With %s', (_name, make) => {
  it('calls at once are paced, and a refused one is sent again with its body', async () => {
    const { url, statuses } = await startApi()
    const items = Array.from({ length: 12 }, (_, index) => `item ${index}`)
    const answers = await Promise.all(items.map((item) => make(url, item)))
    expect(answers).toEqual(items.map((item) => ({ ordered: item })))
    expect(statuses[0]).toBe(429)
    expect(statuses.filter((status) => status === 429).length).toBeLessThanOrEqual(2)
  })

  it('a wait that cannot fit is an error of ours, or has one as its cause', async () => {
    const { url } = await serve(inTurn({ status: 429, headers: { 'retry-after': '600' } }))
    await make(url, 'first').catch(() => {})
    const error: unknown = await make(url, 'second').catch((error: unknown) => error)
    const own = error instanceof RateLimitError ? error : (error as Error).cause
    expect(own).toMatchObject({ name: 'RateLimitError', reason: 'max-wait' })
  })
})
