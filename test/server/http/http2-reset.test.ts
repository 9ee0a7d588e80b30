import { type ClientHttp2Session, connect } from 'node:http2'
import { concurrency, createLimiter, type Limiter, tokenBucket } from '@ratepact/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../wait.js'
import { fronts } from '../adapters/fronts.js'

/** More than a client takes of one answer before it has to say that it takes more. */
const LARGE = 'x'.repeat(300_000)

/** Gives answers up once they have begun, by a reset that names no error. */
async function giveUp(port: number, count: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  await Promise.all(
    Array.from({ length: count }, async () => {
      const stream = session.request({ ':path': '/' })
      stream.on('error', () => {})
      stream.pause()
      await new Promise((resolve) => stream.once('response', resolve))
      // The rest of the window is filled, and the server waits.
      await new Promise((resolve) => setTimeout(resolve, 50))
      stream.close(0)
    }),
  )
  return session
}

async function free(limiter: Limiter): Promise<number> {
  const decision = await limiter.peek('one')
  return 'limits' in decision ? (decision.limits[0]?.available ?? -1) : -1
}

describe.each(fronts.filter(({ http }) => http === 2))('An answer that is given up on $name', ({ open }) => {
  const partition = () => 'one'
  const large = () => ({ body: LARGE })

  it('frees its place, though its client stays and nobody tells of its end', async () => {
    const limiter = createLimiter({
      policies: [concurrency({ name: 'running', limit: 3, leaseSeconds: 0.3 })],
    })
    const { port, ask } = await open([{ limiter, partition }], large)
    await giveUp(port, 3)
    await until('all places are free', async () => (await free(limiter)) === 3, 3000)
    expect((await ask('/')).status).toBe(200)
  })

  it('is concluded, once, when its client has gone', async () => {
    const limiter = createLimiter({
      policies: [tokenBucket({ name: 'all', capacity: 10, refillPerSecond: 0.001 })],
    })
    let concluded = 0
    const chargeWhen = () => {
      concluded += 1
      return false
    }
    const { port } = await open([{ limiter, partition, chargeWhen }], large)
    const session = await giveUp(port, 3)
    // Longer than Node takes to forget what a session had.
    session.close()
    await new Promise((resolve) => setTimeout(resolve, 50))
    session.destroy()
    await until('all are given back', async () => (await free(limiter)) === 10, 3000)
    expect(concluded).toBe(3)
  })
})
