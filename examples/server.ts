import { createLimiter, memoryStore, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { redisStore } from '@ratepact/server/redis'
import express from 'express'
import { Redis } from 'ioredis'

const { REDIS_URL, PORT = '3000' } = process.env
const limiter = createLimiter({
  store: REDIS_URL === undefined ? memoryStore() : redisStore(new Redis(REDIS_URL).on('error', () => {})),
  onEvent: (event) => console.log(event.type),
  policies: [tokenBucket({ name: 'burst', capacity: 20, refillPerSecond: 50 })],
})
const app = express()
// Counted is whom your authentication, before this, has found, or else the address; never a header that nobody has checked.
app.use(
  rateLimit({
    limiter,
    partition: (_req, res) => res.locals.clientId && `id:${res.locals.clientId}`,
    missingPartition: 'address',
  }),
)
app.post('/orders', (_req, res) => void res.status(201).json({ ordered: true }))
app.listen(Number(PORT), '127.0.0.1', (error) => {
  if (error) throw error
  console.log(`POST http://127.0.0.1:${PORT}/orders`)
})
