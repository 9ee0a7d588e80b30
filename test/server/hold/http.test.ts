import { createLimiter, fixedWindow, type Limiter, type Policy, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { limitedApi } from '@ratepact/testing'
import { describe, expect, it } from 'vitest'
import { until } from '../../wait.js'
import { handStore, majors, serve } from '../express/helper.js'

const bucket = tokenBucket({ name: 'burst', capacity: 2, refillPerSecond: 10 })
const slow = tokenBucket({ name: 'slow', capacity: 2, refillPerSecond: 0.5 })

interface Front {
  readonly url: string
  /** When the handler began to run, call by call. */
  readonly starts: number[]
}

/** Servers on real ports, whose store's clock stands still, so that what is held does not depend on how fast they are. */
const fronts: Record<string, (policy: Policy, hold: number) => Promise<Front>> = {
  ...Object.fromEntries(
    majors.map(([name, express]) => [
      name,
      async (policy: Policy, hold: number) => {
        const starts: number[] = []
        const app = express()
        app.use(expressLimit({ policies: [policy], hold, store: handStore().store, partition: () => 'one' }))
        app.get('/', (_request, response) => {
          starts.push(performance.now())
          response.send('done')
        })
        const { port } = await serve(app)
        return { url: `http://127.0.0.1:${port}/`, starts }
      },
    ]),
  ),
  'a fetch handler': async (policy, hold) => {
    const starts: number[] = []
    const limit = fetchLimit({ policies: [policy], hold, store: handStore().store, partition: () => 'one' })
    const handle = limit(() => {
      starts.push(performance.now())
      return new Response('done')
    })
    const { port } = await serve((_request, response) => {
      const gone = new AbortController()
      response.on('close', () => gone.abort())
      handle(new Request('http://api.test/', { signal: gone.signal })).then(
        ({ status, headers }) => {
          response.writeHead(status, Object.fromEntries(headers))
          response.end()
        },
        () => response.destroy(),
      )
    })
    return { url: `http://127.0.0.1:${port}/`, starts }
  },
}

const statusOf = async (url: string, signal: AbortSignal | null = null): Promise<number> => {
  const answer = await fetch(url, { signal })
  await answer.arrayBuffer()
  return answer.status
}

describe.each(Object.entries(fronts))('a request to %s', (_, open) => {
  it('is held until its unit is there, and refused when that is too far', async () => {
    const { url, starts } = await open(bucket, 0.25)
    const statuses = await Promise.all(Array.from({ length: 6 }, () => statusOf(url)))
    expect(statuses.sort()).toEqual([200, 200, 200, 200, 429, 429])
    starts.sort((one, other) => one - other)
    // Two at once, then 10 each second. Timers may be late, never early.
    expect((starts[3] ?? 0) - (starts[0] ?? 0)).toBeGreaterThan(150)
  })

  it('states what is left when it is let go', async () => {
    const { url } = await open(bucket, 0.25)
    const answers = await Promise.all(Array.from({ length: 3 }, () => fetch(url)))
    const fields = answers.map(({ headers }) => headers.get('ratelimit'))
    expect(fields.sort()).toEqual([
      '"burst";r=0;t=1;ratepact-t-ms=100',
      '"burst";r=0;t=1;ratepact-t-ms=100',
      '"burst";r=1;t=1;ratepact-t-ms=100',
    ])
    await Promise.all(answers.map((answer) => answer.arrayBuffer()))
  })

  it('gives its unit back when its client goes while it is held, and does not run', async () => {
    const { url, starts } = await open(slow, 4)
    expect(await Promise.all([statusOf(url), statusOf(url)])).toEqual([200, 200])
    const leaving = new AbortController()
    const held = [statusOf(url, leaving.signal), statusOf(url, leaving.signal)]
    const isRefused = async () => (await statusOf(url, AbortSignal.timeout(300)).catch(() => 0)) === 429
    await until('no more can be held', isRefused)
    leaving.abort()
    expect((await Promise.allSettled(held)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await until('there is room again', async () => !(await isRefused()))
    expect(starts).toHaveLength(2)
  })
})

it('a limiter without hold refuses what another one would have held', async () => {
  const limiter: Limiter<'burst'> = createLimiter({ policies: [bucket] })
  expect([
    (await limiter.consume('one', { cost: 2 })).outcome,
    (await limiter.consume('one')).outcome,
  ]).toEqual(['admitted', 'refused'])
})

it('a request held for a window states the window in which it is let go', async () => {
  const api = limitedApi({
    policies: [fixedWindow({ name: 'tenth', quota: 4, windowSeconds: 0.5, anchor: 'first-request' })],
    hold: 1,
  })
  const answers = await Promise.all(Array.from({ length: 7 }, () => api.fetch('http://api.test/')))
  const fields = answers.map(({ status, headers }) => [status, headers.get('ratelimit')?.split(';t')[0]])
  expect(fields).toEqual([
    [200, '"tenth";r=3'],
    [200, '"tenth";r=2'],
    [200, '"tenth";r=1'],
    [200, '"tenth";r=0'],
    [200, '"tenth";r=3'],
    [200, '"tenth";r=2'],
    [200, '"tenth";r=1'],
  ])
})
