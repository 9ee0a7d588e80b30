import { tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fastify'
import Fastify from 'fastify'
import { expect, it, onTestFinished } from 'vitest'

const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })

async function openWith(hook: string) {
  const app = Fastify()
  app.addHook(hook as never, rateLimit({ policies: [one] }) as never)
  app.post('/', async () => ({ done: true }))
  onTestFinished(() => app.close())
  return async () => {
    const { statusCode, json } = await app.inject({ method: 'POST', url: '/', payload: {} })
    return { status: statusCode, body: json() }
  }
}

it.each(['onRequest', 'preValidation', 'preHandler'])('a limit in %s refuses', async (hook) => {
  const ask = await openWith(hook)
  expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
})

it.each(['preParsing', 'preSerialization', 'onSend'])(
  'a limit in %s, which would answer in the midst of an answer or before a body is there, is an error that says so',
  async (hook) => {
    const ask = await openWith(hook)
    for (let i = 0; i < 2; i += 1) {
      expect(await ask()).toMatchObject({
        status: 500,
        body: {
          message:
            'rateLimit is a hook for onRequest, preValidation or preHandler, and was called with a payload',
        },
      })
    }
  },
)
