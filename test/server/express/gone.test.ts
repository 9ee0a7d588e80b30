import { connect } from 'node:net'
import { tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import type { RequestHandler, Response } from 'express'
import { describe, expect, it, vi } from 'vitest'
import { heldStore, majors, serve } from './helper.js'

const policies = [tokenBucket({ name: 'two', capacity: 2, refillPerSecond: 0.001 })] as const

describe.each(majors)('While a decision is awaited on %s', (_, express) => {
  async function start(before: RequestHandler = (_req, _res, next) => next()) {
    const held = heldStore()
    const responses: Response[] = []
    const handled: string[] = []
    const errors: Error[] = []
    const app = express()
    app.use((_req, res, next) => {
      responses.push(res)
      next()
    })
    app.use(before)
    app.use(
      rateLimit({
        policies,
        store: held.store,
        onDenied: (_req, res) => {
          handled.push('denied')
          res.end('denied')
        },
      }),
    )
    app.use((_req, res) => {
      handled.push('handled')
      res.end('handled')
    })
    app.use(((error, _req, _res, next) => {
      errors.push(error)
      next(error)
    }) satisfies import('express').ErrorRequestHandler)
    app.set('env', 'test')
    const served = await serve(app)
    /** Sends a request and hangs up once the store has been asked about it. */
    async function askAndLeave() {
      const [count, asked] = [responses.length, held.asked()]
      const socket = connect(served.port, '127.0.0.1')
      socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n')
      await vi.waitFor(() => expect(held.asked()).toBe(asked + 1))
      socket.destroy()
      const response = responses[count] as Response
      await vi.waitFor(() => expect(response.destroyed).toBe(true))
      return response
    }
    return { ...served, held, responses, handled, errors, askAndLeave }
  }
  /** Lets everything run that a released decision sets off. */
  async function settle(held: { release(): void }) {
    held.release()
    for (let i = 0; i < 10; i += 1) await new Promise(setImmediate)
  }

  it('a client that goes is counted and served, so that hanging up is no way around the limit', async () => {
    const { ask, held, handled, errors, askAndLeave } = await start()
    await askAndLeave()
    await settle(held)
    expect(handled).toEqual(['handled'])
    const next = ask('/')
    await vi.waitFor(() => expect(held.asked()).toBe(2))
    held.release()
    expect((await next).headers.ratelimit).toMatch(/^"two";r=0;/)
    expect(errors).toEqual([])
  })

  it('a client that goes and is refused is answered by nobody', async () => {
    const { held, handled, errors, askAndLeave } = await start()
    const responses = [await askAndLeave(), await askAndLeave(), await askAndLeave()]
    await settle(held)
    expect(handled).toEqual(['handled', 'handled'])
    expect(responses[2]?.headersSent).toBe(false)
    expect(errors).toEqual([])
  })

  it('an answer given by somebody else stays the only one', async () => {
    const { ask, held, responses, handled, errors } = await start()
    const asking = ask('/')
    await vi.waitFor(() => expect(held.asked()).toBe(1))
    responses[0]?.status(504).end('too slow')
    const answer = await asking
    expect([answer.status, answer.body]).toEqual([504, 'too slow'])
    expect(answer.headers.ratelimit).toBeUndefined()
    await settle(held)
    expect(handled).toEqual([])
    expect(errors).toEqual([])
  })

  describe('after somebody has begun to answer', () => {
    const begun: RequestHandler = (_req, res, next) => {
      res.write('begun, ')
      next()
    }

    it('an admitted request is finished by its handler', async () => {
      const { ask, held } = await start(begun)
      const asking = ask('/')
      await vi.waitFor(() => expect(held.asked()).toBe(1))
      held.release()
      const answer = await asking
      expect([answer.status, answer.body]).toEqual([200, 'begun, handled'])
      expect(answer.headers.ratelimit).toBeUndefined()
    })

    it('a refused one is cut off, by an error that says why', async () => {
      const { ask, held, handled, errors } = await start(begun)
      const asking = [ask('/'), ask('/'), ask('/')].map((asked) =>
        asked.then(
          ({ body }) => body,
          () => 'cut off',
        ),
      )
      await vi.waitFor(() => expect(held.asked()).toBe(3))
      held.release()
      expect((await Promise.all(asking)).sort()).toEqual(['begun, handled', 'begun, handled', 'cut off'])
      expect(handled).toEqual(['handled', 'handled'])
      expect(errors.map(({ message }) => message)).toEqual([
        'rateLimit refused a request whose answer had begun: put it before what sends headers',
      ])
    })
  })

  it('an answer that was ended before is left alone', async () => {
    const { ask, held, errors } = await start((_req, res, next) => {
      res.end('done')
      next()
    })
    const answers = await Promise.all([ask('/'), ask('/'), ask('/')])
    expect(answers.map(({ body }) => body)).toEqual(['done', 'done', 'done'])
    await settle(held)
    // Two were admitted, and their handler is Express's affair; the third met nothing of ours.
    expect(errors).toEqual([])
  })
})
