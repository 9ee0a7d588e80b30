import { tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/koa'
import Koa from 'koa'
import { describe, expect, it, onTestFinished } from 'vitest'
import { handStore } from '../express/helper.js'
import { askHttp1 } from './ask.js'

const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })

/** An app that answers by itself, in Koa's place. */
async function openTaken(options: object = {}) {
  const app = new Koa()
  app.silent = true
  app.use(async (ctx, next) => {
    ctx.respond = false
    await next()
  })
  app.use(rateLimit({ policies: [one], store: handStore().store, ...options } as never))
  app.use((ctx) => void ctx.res.writeHead(200).end('by itself'))
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const ask = askHttp1((server.address() as { port: number }).port)
  expect(await ask('/')).toMatchObject({ status: 200, body: 'by itself' })
  return ask
}

describe('Where something answers in the place of Koa, a refusal', () => {
  it('is answered', async () => {
    const ask = await openTaken()
    expect(await ask('/')).toMatchObject({ status: 429, headers: { 'retry-after': '10' } })
  })

  it('is answered by what onDenied sets', async () => {
    const ask = await openTaken({
      onDenied(ctx: Koa.Context) {
        ctx.body = 'slow down'
      },
    })
    expect(await ask('/')).toMatchObject({ status: 429, body: 'slow down' })
  })

  it('is answered by onDenied by itself, too', async () => {
    const ask = await openTaken({
      onDenied(ctx: Koa.Context) {
        ctx.respond = false
        setImmediate(() => ctx.res.end('slow down'))
      },
    })
    expect(await ask('/')).toMatchObject({ status: 429, body: 'slow down' })
  })

  it('leaves nothing behind where onDenied fails', async () => {
    const ask = await openTaken({ onDenied: () => Promise.reject(new Error('my fault')) })
    const { status, headers } = await ask('/')
    expect([status, headers['retry-after']]).toEqual([500, undefined])
  })
})
