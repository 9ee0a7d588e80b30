import { createLimiter, type Limiter, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { limitedApi, testClock } from '@ratepact/testing'
import { describe, expect, it } from 'vitest'
import { handStore, majors, serve } from '../express/helper.js'

const policies = [tokenBucket({ name: 'burst', capacity: 3, refillPerSecond: 0.1 })] as const

/** What is said of the limits to a request with such a header. */
type Ask = (instance?: string) => Promise<string | undefined>

const fronts: Record<string, (limiter: Limiter, headers?: object) => Promise<Ask>> = {
  ...Object.fromEntries(
    majors.map(([name, express]) => [
      name,
      async (limiter: Limiter, headers?: object) => {
        const app = express()
        app.use(expressLimit({ limiter, partition: () => 'one', ...(headers && { headers }) }))
        app.get('/', (_request, response) => response.send('done'))
        const { ask } = await serve(app)
        return async (instance?: string) => {
          const sent = instance === undefined ? {} : { 'Ratepact-Instance': instance }
          return (await ask('/', { headers: sent })).headers.ratelimit as string | undefined
        }
      },
    ]),
  ),
  'a fetch handler': async (limiter, headers) => {
    const handle = fetchLimit({ limiter, partition: () => 'one', ...(headers && { headers }) })(
      () => new Response('done'),
    )
    return async (instance) => {
      const sent = instance === undefined ? {} : { 'ratepact-instance': instance }
      const { headers: stated } = await handle(new Request('http://api.test/', { headers: sent }))
      return stated.get('ratelimit') ?? undefined
    }
  },
}

const counting = (): Limiter =>
  createLimiter({ policies, store: handStore().store, countInstances: true }) as Limiter

describe.each(Object.entries(fronts))('%s', (_, open) => {
  it('states on every answer how many processes have told of themselves, the refused ones too', async () => {
    const ask = await open(counting())
    expect(await ask()).toBe('"burst";r=2;t=20;ratepact-t-ms=20000')
    expect(await ask('8f3a01c2d4e5b697')).toBe('"burst";r=1;t=10;ratepact-t-ms=10000;ratepact-n=1')
    expect(await ask('0123456789abcdef')).toBe('"burst";r=0;t=10;ratepact-t-ms=10000;ratepact-n=2')
    expect(await ask('ffffffffffffffff')).toBe('"burst";r=0;t=10;ratepact-t-ms=10000;ratepact-n=2')
  })

  it.each([['two words'], ['x'.repeat(65)], ['x'.repeat(8000)], ['é'], ['']])(
    'takes %j for no name',
    async (name) => {
      const ask = await open(counting())
      expect(await ask(name)).toBe('"burst";r=2;t=20;ratepact-t-ms=20000')
    },
  )

  it('states nothing of it where hints are turned off', async () => {
    const ask = await open(counting(), { hints: false })
    expect(await ask('a')).toBe('"burst";r=2;t=20')
  })

  it('does not look at the header unless the limiter counts', async () => {
    const ask = await open(createLimiter({ policies, store: handStore().store }) as Limiter)
    expect(await ask('a')).toBe('"burst";r=2;t=20;ratepact-t-ms=20000')
  })
})

it('a limited API counts them where it is told to', async () => {
  const api = limitedApi({ policies, clock: testClock(), countInstances: true, partition: () => 'one' })
  const ask = async (name: string) =>
    (await api.fetch('http://api.test/', { headers: { 'Ratepact-Instance': name } })).headers.get('ratelimit')
  await ask('a')
  expect(await ask('b')).toBe('"burst";r=1;t=10;ratepact-t-ms=10000;ratepact-n=2')
})

it('a request made of two such headers is of nobody', async () => {
  const app = majors[1]?.[1]()
  if (app === undefined) throw new Error('no Express')
  app.use(expressLimit({ limiter: counting(), partition: () => 'one' }))
  app.get('/', (_request, response) => response.send('done'))
  const { port } = await serve(app)
  const headers = new Headers([
    ['Ratepact-Instance', 'a'],
    ['Ratepact-Instance', 'b'],
  ])
  const answer = await fetch(`http://127.0.0.1:${port}/`, { headers })
  expect(answer.headers.get('ratelimit')).not.toContain('ratepact-n')
})
