// The orders API, in a process of its own so that its clients cannot slow it down. Started by orders.ts.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLimiter, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import express from 'express'
import { capacity, refillPerSecond } from './limits.js'
import type { Report } from './orders.js'
import { openStore } from './store.js'
import { createTally } from './tally.js'

async function start(): Promise<void> {
  const { name, about, store, stop } = await openStore(process.env.REDIS_URL)
  const limiter = createLimiter({
    store,
    policies: [tokenBucket({ name: 'burst', capacity, refillPerSecond })],
    onStoreFailure: 'closed',
    onEvent: (event) => {
      if (process.connected) console.error('The orders API:', event)
    },
  })
  const tally = createTally()
  let orders = 0

  const app = express()
  app.use(tally.watch)
  // A key that anybody may make up is good enough for a demo alone: count by what was checked.
  app.use(rateLimit({ limiter, partition: (req) => req.get('x-api-key'), missingPartition: 'address' }))
  app.post('/orders', (_req, res) => {
    orders += 1
    res.status(201).json({ order: orders })
  })

  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  process.on('message', (key) => report({ type: 'counts', counts: tally.of(String(key)) }))
  report({ type: 'ready', url: `http://127.0.0.1:${port}`, store: name, about })
  if (process.connected) await once(process, 'disconnect')
  server.close()
  server.closeAllConnections()
  await limiter.close()
  await stop()
}

/** Whoever started this may be gone. */
function report(what: Report): void {
  process.send?.(what, undefined, undefined, () => {})
}

// Ctrl-C reaches every process of a terminal; this one ends when the one that started it does.
process.on('SIGINT', () => {})
await start().catch((error: unknown) => {
  report({ type: 'failed', why: error instanceof Error ? error.message : String(error) })
  process.exitCode = 1
  process.disconnect?.()
})
