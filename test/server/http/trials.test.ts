import { concurrency, createLimiter, leakyBucket, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { type Denied, rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { until } from '../../wait.js'
import { majors, serve } from '../express/helper.js'

const live = tokenBucket({ name: 'live', capacity: 2, refillPerSecond: 0.001 })
/** Each of them would refuse, delay or state something. */
const shadows = [
  tokenBucket({ name: 'route', capacity: 1, refillPerSecond: 0.001, perScope: true, shadow: true }),
  tokenBucket({ name: 'team', capacity: 1, refillPerSecond: 0.001, by: 'account', shadow: true }),
  leakyBucket({ name: 'queue', capacity: 50, leakPerSecond: 0.05, shadow: true }),
] as const
const candidate = [
  tokenBucket({ name: 'live', capacity: 1, refillPerSecond: 0.001 }),
  leakyBucket({ name: 'queue', capacity: 50, leakPerSecond: 0.05 }),
] as const
const who = () => ({ client: 'one', account: 'x' })

/** All of an answer, its fields included; milliseconds go by from one to the other. */
async function whole(answer: Response): Promise<unknown> {
  const fields = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'retry-after-ms')
  return [answer.status, fields.map((field) => String(field).replace(/-ms=\d+/g, '')), await answer.text()]
}

describe('What is tried leaves no trace in an answer', () => {
  it('of a fetch handler', async () => {
    const plain = fetchLimit({ policies: [live], partition: () => 'one' })(() => new Response('hello'))
    const trying = fetchLimit({ policies: [live, ...shadows], candidate, partition: who })(
      () => new Response('hello'),
    )
    for (let i = 0; i < 4; i += 1) {
      const request = () => new Request('http://api.test/', { headers: { origin: 'http://page.test' } })
      expect(await whole(await trying(request()))).toEqual(await whole(await plain(request())))
    }
  })

  it.each(majors)('of Express %s', async (_major, express) => {
    const answersOf = async (limit: ReturnType<typeof expressLimit>) => {
      const app = express()
      app.use(limit)
      app.get('/', (_request, response) => {
        response.send('hello')
      })
      const { port } = await serve(app)
      const answers: unknown[] = []
      for (let i = 0; i < 4; i += 1) answers.push(await whole(await fetch(`http://127.0.0.1:${port}/`)))
      return answers
    }
    const plain = await answersOf(expressLimit({ policies: [live], partition: () => 'one' }))
    expect(
      await answersOf(expressLimit({ policies: [live, ...shadows], candidate, partition: who })),
    ).toEqual(plain)
  })

  it('where nothing else is there to be stated', async () => {
    const handle = fetchLimit({ policies: shadows, partition: who })(() => new Response('hello'))
    await handle(new Request('http://api.test/'))
    const answer = await handle(new Request('http://api.test/'))
    expect([answer.status, answer.headers.get('ratelimit'), answer.headers.get('ratelimit-policy')]).toEqual([
      200,
      null,
      null,
    ])
  })
})

it('a place that is tried is kept for as long as the request, and given back at its end', async () => {
  const limiter = createLimiter({
    policies: [live],
    candidate: [concurrency({ name: 'running', limit: 1, leaseSeconds: 0.3 })],
  })
  const isFree = async () => (await limiter.peek('one')).shadow[0]?.allowed === true
  let finish = () => {}
  const handle = fetchLimit({ limiter, partition: () => 'one' })(
    () =>
      new Promise<Response>((resolve) => {
        finish = () => resolve(new Response(null))
      }),
  )
  const answer = handle(new Request('http://api.test/'))
  await until('the place is taken', async () => !(await isFree()))
  const since = performance.now()
  while (performance.now() - since < 900) {
    expect(await isFree()).toBe(false)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  finish()
  expect((await answer).status).toBe(200)
  await until('the place is free', isFree, 5000)
})

// What follows is checked by the compiler.
it('adapters ask for what is tried, and know that it refuses nothing', () => {
  fetchLimit({
    policies: [live, ...shadows],
    candidate,
    partition: who,
    cost: { live: 1, team: 2, queue: 1 },
    onDenied(_request, decision) {
      expectTypeOf(decision).toEqualTypeOf<Denied<'live'>>()
      return new Response(null)
    },
  })
  expressLimit({ policies: [live], candidate: shadowless, partition: who, cost: () => ({ team: 2 }) })
  // @ts-expect-error a kind left out that only the candidate counts
  expressLimit({ policies: [live], candidate: shadowless, partition: () => ({ client: 'one' }) })
  const limiter = createLimiter({ policies: [live], candidate: shadowless })
  fetchLimit({ limiter, partition: who, cost: () => ({ team: 2 }) })
  // @ts-expect-error a policy that is not there
  fetchLimit({ limiter, partition: who, cost: () => ({ taem: 2 }) })
})
const shadowless = [
  tokenBucket({ name: 'team', capacity: 9, refillPerSecond: 0.001, by: 'account' }),
] as const
