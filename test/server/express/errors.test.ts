import { createLimiter, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import type { ErrorRequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { majors, serve } from './helper.js'

const policies = [tokenBucket({ name: 'all', capacity: 100, refillPerSecond: 1, perScope: true })] as const
const report: ErrorRequestHandler = (error, _req, res, _next) => {
  res.status(500).json({ name: error.name, message: error.message })
}
const names = ['partition', 'cost', 'scope', 'skip', 'plan'] as const
const limits = (options: object) => ('plan' in options ? { plans: { free: policies } } : { policies })

describe.each(majors)("A fault of the user's functions on %s", (_, express) => {
  async function ask(options: object) {
    const app = express()
    app.get(
      '/',
      rateLimit({ ...limits(options), ...options } as never),
      (_req, res) => void res.send('handled'),
    )
    app.get('/', (_req, res) => void res.send('the next route'))
    app.use(report)
    const answer = await (await serve(app)).ask('/')
    return { ...answer, error: answer.status === 500 ? JSON.parse(answer.body) : undefined }
  }

  describe.each(names)('in %s', (name) => {
    it('goes to the error handlers when thrown', async () => {
      const answer = await ask({
        [name]: () => {
          throw new RangeError('my fault')
        },
      })
      expect(answer.error).toEqual({ name: 'RangeError', message: 'my fault' })
    })

    it('goes to the error handlers when rejected', async () => {
      const answer = await ask({ [name]: () => Promise.reject(new RangeError('my fault')) })
      expect(answer.error).toEqual({ name: 'RangeError', message: 'my fault' })
    })

    it.each([undefined, null, '', 'route', 'router', 0, false])(
      'is an error also when it is %j',
      async (thrown) => {
        const answer = await ask({ [name]: () => Promise.reject(thrown) })
        expect(answer.error).toEqual({
          name: 'Error',
          message: `A function given to rateLimit threw ${typeof thrown === 'string' ? JSON.stringify(thrown) : thrown}, which is not an Error`,
        })
      },
    )
  })

  it.each([
    ['cost', -1, 'RangeError', 'Expected cost to be a whole number from 0 to 1000000000000, got -1'],
    ['cost', Number.NaN, 'RangeError', 'Expected cost to be a whole number from 0 to 1000000000000, got NaN'],
    ['cost', '2', 'RangeError', 'Expected cost to be a whole number from 0 to 1000000000000, got "2"'],
    ['cost', { other: 1 }, 'TypeError', 'Unknown option "other" of cost; it takes all'],
    ['scope', 7, 'TypeError', 'Expected scope to be a text, got 7'],
  ])('is told by name: %s of %j', async (name, result, error, message) => {
    expect((await ask({ [name]: () => result })).error).toEqual({ name: error, message })
  })

  const hostile = {
    get all(): number {
      throw new RangeError('my fault')
    },
    get client(): string {
      throw new RangeError('my fault')
    },
  }
  const unsettled = Object.defineProperty({}, 'then', {
    get() {
      throw new RangeError('my fault')
    },
  })
  const { proxy: revoked, revoke } = Proxy.revocable({}, {})
  revoke()

  it.each<[string, unknown]>([
    ['partition', hostile],
    ['cost', hostile],
    ...names.map((name): [string, unknown] => [name, unsettled]),
    ...names.map((name): [string, unknown] => [name, revoked]),
    ['partition', Symbol('s')],
    ['partition', { client: Symbol('s') }],
    ['partition', 1n],
    ['partition', { client: 1n }],
    ['partition', () => 'one'],
    ['cost', Symbol('s')],
    ['cost', 1n],
    ['cost', { all: Symbol('s') }],
    ['cost', { all: 1n }],
    ['scope', Symbol('s')],
    ['scope', 1n],
  ])('reaches the error handlers where %s returns what cannot be used (%#)', async (name, result) => {
    const answer = await ask({ [name]: () => result })
    expect(answer.status).toBe(500)
    expect(answer.error.name).toMatch(/^(Range|Type|Partition)Error$/)
    const limit = fetchLimit({
      ...limits({ [name]: 0 }),
      partition: () => 'one',
      [name]: () => result,
    } as never)
    const handle = limit(() => new Response('handled'))
    await expect(handle(new Request('http://api.test/'))).rejects.toThrow(Error)
  })

  it('reads a partition once: what is checked is what counts', async () => {
    let reads = 0
    const shifting = Object.defineProperty({}, 'client', {
      enumerable: true,
      get: () => {
        reads += 1
        return reads === 1 ? 'one' : 7
      },
    })
    expect((await ask({ partition: () => shifting })).status).toBe(200)
    expect(reads).toBe(1)
  })

  it('reaches the error handlers from a limiter that is closed', async () => {
    const limiter = createLimiter({ policies })
    await limiter.close()
    expect((await ask({ limiter, policies: undefined })).error).toEqual({
      name: 'TypeError',
      message: 'This limiter is closed: make no calls after close()',
    })
  })

  it('lets what skip is true for pass uncounted', async () => {
    const answer = await ask({
      skip: async () => true,
      partition: () => Promise.reject(new Error('not asked')),
    })
    expect(answer.body).toBe('handled')
    expect(answer.headers.ratelimit).toBeUndefined()
  })
})
