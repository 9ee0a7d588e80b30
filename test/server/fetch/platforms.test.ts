import {
  concurrency,
  leakyBucket,
  tokenBucket,
} from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'
import { describe, expect, it } from 'vitest'

const burst = tokenBucket({ name: 'burst', capacity: 9, refillPerSecond: 1 })
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
