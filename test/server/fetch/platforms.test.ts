import { concurrency, createLimiter, leakyBucket, tokenBucket } from '@ratepact/server'
import { type Answer, rateLimit } from '@ratepact/server/fetch'
import { describe, expect, it } from 'vitest'
import { until } from '../../wait.js'

const burst = tokenBucket({ name: 'burst', capacity: 9, refillPerSecond: 1 })
const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })
const partition = (request: Request): string => request.headers.get('x-client') ?? 'one'
const asked = (headers: Record<string, string> = {}) => new Request('http://api.test/', { headers })

/** What limits may be asked to do with an answer, each in its own way. */
const limits: readonly (readonly [what: string, options: object])[] = [
  ['a bucket', { policies: [burst] }],
  ['a place', { policies: [concurrency({ name: 'running', limit: 9, leaseSeconds: 5 })] }],
  ['a place in a queue', { policies: [leakyBucket({ name: 'queue', capacity: 9, leakPerSecond: 100 })] }],
  ['a charge of what fails', { policies: [burst], chargeWhen: 'failed' }],
  ['a charge by what it came to', { policies: [burst], settle: () => ({ burst: 1 }) }],
  [
    'a bucket per route',
    { policies: [tokenBucket({ name: 'route', capacity: 9, refillPerSecond: 1, perScope: true })] },
  ],
  ['fields of other dialects', { policies: [burst], headers: { legacy: true } }],
  ['a hash of the client', { policies: [burst], headers: { partitionKey: 'a secret of the service' } }],
]

describe.each(limits)('A fetch handler behind %s', (_what, options) => {
  const limit = (more: object = {}) => rateLimit({ partition, ...options, ...more } as never)

  it('takes what its platform hands it, and looks as though it took something', async () => {
    const handler = limit()((_request: Request, info: { readonly name: string }, more: number) => {
      return new Response(`${info.name} ${more}`)
    })
    // Deno calls a handler that declares no parameter with none.
    expect(handler.length).toBeGreaterThanOrEqual(1)
    expect(await (await handler(asked(), { name: 'platform' }, 2)).text()).toBe('platform 2')
  })

  it('answers though its request cannot be read any more', async () => {
    let taken = false
    const handler = limit()(() => {
      taken = true
      return new Response('done')
    })
    const answer = await handler(onceReadable(asked({ origin: 'http://page.test' }), () => taken))
    expect(await answer.text()).toBe('done')
    expect(answer.headers.get('access-control-expose-headers')).toMatch(/Retry-After/)
  })

  it.each([
    ['nothing, as on Bun once it has upgraded', undefined],
    // No Response of Node's can be made with this status.
    ['a switch of protocols', { status: 101, headers: new Headers(), body: new ReadableStream() }],
  ])('hands on %s', async (_what, given) => {
    const handler = limit()(() => given as Response | undefined)
    expect(await handler(asked())).toBe(given)
  })
})

it('a place is free again once a handler has handed its connection to somebody else', async () => {
  const limiter = createLimiter({ policies: [concurrency({ name: 'running', limit: 1, leaseSeconds: 600 })] })
  const handler = rateLimit({ limiter, partition })(() => undefined)
  expect(await handler(asked())).toBeUndefined()
  await until('its place is free', async () => (await limiter.peek('one')).outcome === 'admitted')
})

it.each([
  ['a text', 'no', '"no"'],
  ['a number', 429, '429'],
  ['an object', {}, 'an object'],
])('onDenied that returns %s fails, and is not told as a success', async (_what, given, shown) => {
  const handler = rateLimit({ policies: [one], partition, onDenied: () => given as never })(
    () => new Response(),
  )
  await handler(asked())
  await expect(handler(asked())).rejects.toThrow(
    new TypeError(`Expected what onDenied returns to be a Response, got ${shown}`),
  )
})

it.each([
  ['texts', ['añ', 'b'], 4],
  ['bytes', [new Uint8Array(3), new Uint8Array(2)], 5],
  ['buffers', [new ArrayBuffer(3), new DataView(new ArrayBuffer(2))], 5],
  ['what no platform sends', [{}, null], 0],
])('the bytes of a body of %s are counted', async (_what, chunks, bytes) => {
  const told: Answer[] = []
  const settle = (answer: Answer): undefined => void told.push(answer)
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  const answer = await rateLimit({ policies: [burst], partition, settle })(() => new Response(body))(asked())
  const reader = answer.body?.getReader()
  while ((await reader?.read())?.done === false);
  await until('its end is told', () => told.length > 0)
  expect(told).toMatchObject([{ status: 200, bytes, complete: true }])
})

/** As Deno's request is: once its connection is somebody else's, whatever is read of it throws. */
function onceReadable(request: Request, isTaken: () => boolean): Request {
  const guarded = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(of, name) {
        if (isTaken() && typeof name === 'string' && name in of) throw new TypeError('Request closed')
        const value = Reflect.get(of, name, of)
        if (typeof value === 'function') return value.bind(of)
        return value instanceof Headers ? guarded(value) : value
      },
    })
  return guarded(request)
}
