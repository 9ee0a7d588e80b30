// One of several processes of a fleet: a service on Express that counts locally while Redis is gone, by its share of
// fixed windows. Says on which port it listens; asked for it, how it is doing and how much it admitted, by window.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { createLimiter, type Decision, fixedWindow } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { redisStore } from '@ratepact/server/redis'
import express from 'express'
import { Redis } from 'ioredis'
import { type Admissions, INSTANCES, quotas, type State, WINDOW_MS } from './fleet.js'

const client = new Redis({ port: Number(process.argv[2]), host: '127.0.0.1', lazyConnect: true })
client.on('error', () => {})
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)

/** By quota and the end of the window. */
const admitted = Object.fromEntries(quotas.map((quota): [number, Admissions] => [quota, {}]))
let byStore = 0
/** Quotas that are counted without the store now. */
const without = new Set<number>()
let changedMs = 0

function note(quota: number, decision: Decision): void {
  if (decision.outcome !== 'admitted') return
  if (decision.source === 'store') byStore += 1
  // To the end of the window; the end that is nearest is it, whatever the machine was busy with meanwhile.
  const endMs = Date.now() + (decision.limits[0]?.effectiveWindowMs ?? Number.NaN)
  const end = Math.round(endMs / WINDOW_MS)
  const windows = admitted[quota] ?? {}
  windows[end] = (windows[end] ?? 0) + 1
}

const app = express()
const limiters = quotas.map((quota) => {
  const limiter = createLimiter({
    policies: [fixedWindow({ name: `of${quota}`, quota, windowSeconds: WINDOW_MS / 1000 })],
    store: redisStore(client, { timeoutMs: 300 }),
    onStoreFailure: { local: { instances: INSTANCES } },
    onEvent({ type }) {
      if (type !== 'degraded' && type !== 'recovered') return
      if (type === 'degraded') without.add(quota)
      else without.delete(quota)
      changedMs = Date.now()
    },
  })
  const noting = {
    ...limiter,
    async consume(...call: Parameters<typeof limiter.consume>) {
      const decision = await limiter.consume(...call)
      note(quota, decision)
      return decision
    },
  }
  app.get(`/${quota}`, rateLimit({ limiter: noting, partition: () => 'all' }), (_request, response) => {
    response.send('done')
  })
  return limiter
})

const server = createServer(app).listen(0, '127.0.0.1', () => say((server.address() as AddressInfo).port))
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'state') say({ byStore, without: without.size, changedMs } satisfies State)
  if (line === 'admitted') say(admitted)
}
server.closeAllConnections()
server.close()
await Promise.all(limiters.map((limiter) => limiter.close()))
