import { tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { prometheusMetrics } from '@ratepact/server/prometheus'
import express from 'express'
import { register } from 'prom-client'

const metrics = prometheusMetrics({ top: 10 })
const orders = rateLimit({
  policies: [tokenBucket({ name: 'burst', capacity: 5, refillPerSecond: 1 })],
  // Whom authentication before this has found, or else the address.
  partition: (_req, res) => res.locals.clientId && `id:${res.locals.clientId}`,
  missingPartition: 'address',
  metrics,
  name: 'orders',
})

const app = express()
app.get('/orders/:id', orders, (req, res) => void res.json({ id: req.params.id }))
// For Prometheus alone: put it where strangers cannot reach it.
app.get('/metrics', async (_req, res) => void res.type(register.contentType).send(await register.metrics()))
export const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
