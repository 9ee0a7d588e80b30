import { createServer } from 'node:http'
import {
  concurrency,
  createLimiter,
  type Limiter,
  leakyBucket,
  type Policy,
  tokenBucket,
} from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../wait.js'
import { fronts } from '../adapters/fronts.js'
import { handStore, majors } from '../express/helper.js'

type Handler = () => Promise<string>

/** A front that is asked with a way to hang up, and says a body or a status. */
async function openFront({ open }: (typeof fronts)[number], limiter: Limiter, handler: Handler) {
  const { ask } = await open([{ limiter, partition: () => 'one' }], async () => ({ body: await handler() }))
  return async (signal?: AbortSignal): Promise<string> => {
    const answer = await ask('/', signal === undefined ? {} : { signal })
    return answer.status === 200 ? answer.body : String(answer.status)
  }
}

const limiterOf = (policy: Policy): Limiter => createLimiter({ policies: [policy] })

describe.each(fronts)('a request to $name', (front) => {
  const open = (limiter: Limiter, handler: Handler) => openFront(front, limiter, handler)

  it('is held until its place in a leaky bucket is reached', async () => {
    const starts: number[] = []
    const ask = await open(
      limiterOf(leakyBucket({ name: 'queue', capacity: 5, leakPerSecond: 20 })),
      async () => {
        starts.push(performance.now())
        return 'done'
      },
    )
    expect(await Promise.all([ask(), ask(), ask()])).toEqual(['done', 'done', 'done'])
    // 20 each second: the third is held for 100 ms. Timers may be late, never early.
    expect((starts[2] ?? 0) - (starts[0] ?? 0)).toBeGreaterThan(80)
  })

  it('gives its place in a leaky bucket back when the client goes while it is held', async () => {
    let served = 0
    const ask = await open(
      limiterOf(leakyBucket({ name: 'queue', capacity: 3, leakPerSecond: 0.5 })),
      async () => {
        served += 1
        return 'done'
      },
    )
    expect(await ask()).toBe('done')
    const leaving = new AbortController()
    const held = [ask(leaving.signal), ask(leaving.signal)]
    await until(
      'the queue is full',
      async () => (await ask(AbortSignal.timeout(200)).catch(() => 'held')) === '429',
    )
    leaving.abort()
    await Promise.allSettled(held)
    await until(
      'there is a place again',
      async () => (await ask(AbortSignal.timeout(50)).catch(() => 'held')) === 'held',
    )
    expect(served).toBe(1)
  })

  it('is refused when it would be held for longer than ten seconds', async () => {
    const policy = leakyBucket({ name: 'queue', capacity: 10, leakPerSecond: 0.05 })
    const ask = await open(limiterOf(policy), async () => 'done')
    expect([await ask(), await ask(), await ask()]).toEqual(['done', '429', '429'])
  })

  it('holds its place while it runs, and gives it back at its end, however it ends', async () => {
    const running: (() => void)[] = []
    const limiter = limiterOf(concurrency({ name: 'running', limit: 2, leaseSeconds: 60 }))
    const free = async (): Promise<number> => {
      const decision = await limiter.peek('one')
      return 'limits' in decision ? (decision.limits[0]?.available ?? -1) : -1
    }
    const ask = await open(limiter, () => {
      return new Promise((resolve) => running.push(() => resolve('done')))
    })
    const leaving = new AbortController()
    const first = ask()
    const second = ask(leaving.signal).catch(() => 'gone')
    await until('both run', () => running.length === 2)
    expect(await ask()).toBe('429')
    running[0]?.()
    expect(await first).toBe('done')
    await until('the first has given its place back', async () => (await free()) === 1)
    leaving.abort()
    await until('the second has given its place back', async () => (await free()) === 2)
    running[1]?.()
    await second
  })
})

it.each([
  { draft: 11, stated: ';r=49;t=40' },
  { draft: 12, stated: ';a=49;w=40;c=1' },
] as const)(
  'a refusal for a hold too long names and states what refused: draft $draft',
  async ({ draft, stated }) => {
    const limit = fetchLimit({
      policies: [
        leakyBucket({ name: 'wide', capacity: 100_000, leakPerSecond: 1000 }),
        leakyBucket({ name: 'queue', capacity: 100, leakPerSecond: 1 }),
        leakyBucket({ name: 'empty', capacity: 10, leakPerSecond: 0.1 }),
        tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 1 }),
      ],
      store: handStore().store,
      partition: () => 'one',
      cost: (request) =>
        request.method === 'PUT' ? { wide: 50, queue: 50, empty: 0 } : { queue: 1, empty: 0, burst: 0 },
      headers: { draft, hints: false },
    })
    const handle = limit(() => new Response('done'))
    expect((await handle(new Request('http://api.test/', { method: 'PUT' }))).status).toBe(200)
    for (const _again of [1, 2]) {
      const refused = await handle(new Request('http://api.test/'))
      expect(refused.status).toBe(429)
      expect(refused.headers.get('retry-after')).toBe('40')
      expect(refused.headers.get('ratelimit')?.split(', ')[1]).toBe(`"queue"${stated}`)
      const body = await refused.json()
      expect([body['violated-policies'], body.detail]).toEqual([['queue'], 'Retry in 40 seconds.'])
    }
  },
)

it('a refusal for a hold too long states the policies of its plan', async () => {
  const limit = fetchLimit({
    plans: {
      free: [leakyBucket({ name: 'slow', capacity: 10, leakPerSecond: 0.05 })],
      paid: [leakyBucket({ name: 'fast', capacity: 10, leakPerSecond: 100 })],
    },
    store: handStore().store,
    partition: () => 'one',
    plan: () => 'free',
    headers: { hints: false },
  })
  const handle = limit(() => new Response('done'))
  await handle(new Request('http://api.test/'))
  const refused = await handle(new Request('http://api.test/'))
  expect(refused.headers.get('ratelimit-policy')).toBe('"slow";q=10;w=200')
  expect((await refused.json())['violated-policies']).toEqual(['slow'])
})

it('a place is kept for longer than its lease while the request runs', async () => {
  const app = majors[1]?.[1]()
  if (app === undefined) throw new Error('no Express')
  const limiter = createLimiter({ policies: [concurrency({ name: 'running', limit: 1, leaseSeconds: 0.3 })] })
  app.use(expressLimit({ limiter, partition: () => 'one' }))
  let end = () => {}
  app.get('/', (_request, response) => {
    end = () => response.send('done')
  })
  const server = createServer(app).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
  })
  await until('it listens', () => server.listening)
  const { port } = server.address() as { port: number }
  const first = fetch(`http://127.0.0.1:${port}/`)
  await until('it runs', async () => (await limiter.peek('one')).outcome === 'refused')
  const since = performance.now()
  while (performance.now() - since < 900) {
    expect((await limiter.peek('one')).outcome).toBe('refused')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  end()
  expect((await first).status).toBe(200)
  await until('the place is free', async () => (await limiter.peek('one')).outcome === 'admitted')
})
