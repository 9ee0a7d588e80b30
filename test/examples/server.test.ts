import { createLimiter, memoryStore, type Store, tokenBucket } from '@ratepact/server'
import express from 'express'
import { describe, expect, it } from 'vitest'
import { modelApp } from '../../examples/llm-tokens.js'
import { loginApp } from '../../examples/login.js'
import { plannedApi } from '../../examples/plans.js'
import { limitMessages } from '../../examples/websocket.js'
import { work } from '../../examples/worker.js'
import { handStore, serve } from '../server/express/helper.js'
import { until } from '../wait.js'

async function post(port: number, path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: answer.status, headers: answer.headers, body: await answer.text() }
}

describe('The login', () => {
  const check = async (name: string, password: string) => name === 'ann' && password === 'right'

  it('is open for those who know their password, however often, and shut after five tries of those who do not', async () => {
    const { port } = await serve(loginApp(check, handStore().store))
    const login = (name: string, password: string) => post(port, '/login', { name, password })
    for (let i = 0; i < 8; i += 1) expect((await login('ann', 'right')).status).toBe(200)
    const wrong = []
    for (const name of ['ann', 'ANN', ' ann', 'Ann ', 'ann']) wrong.push(await login(name, 'wrong'))
    expect(wrong.map(({ status }) => status)).toEqual(Array(5).fill(401))
    const shut = await login('ann', 'right')
    expect([shut.status, shut.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await login('bob', 'wrong')).status).toBe(401)
  })

  it('answers alike whether there is such an account or not, to the last byte', async () => {
    const { port } = await serve(loginApp(check, handStore().store))
    const seen = async (name: string) => {
      const answers: unknown[] = []
      for (let i = 0; i < 7; i += 1) {
        const { status, body, headers } = await post(port, '/login', { name, password: 'wrong' })
        answers.push([status, body, [...headers].filter(([field]) => field !== 'date')])
      }
      return answers
    }
    expect(await seen('ann')).toEqual(await seen('eve'))
  })

  it('lets nobody in while its store cannot be asked, and says so', async () => {
    const down: Store = {
      name: 'down',
      timeoutMs: 20,
      run: () => Promise.reject(new Error('gone')),
      close: async () => {},
    }
    const { port } = await serve(loginApp(check, down))
    expect((await post(port, '/login', { name: 'ann', password: 'right' })).status).toBe(503)
  })
})

it('Plans keep a part for critical clients: the others cannot take it, and they can take it all', async () => {
  const clientOf = (request: Request) => {
    const id = request.headers.get('x-client') ?? ''
    return { id, critical: id === 'hospital' }
  }
  const api = plannedApi(clientOf, handStore().store)
  const passed = async (id: string, calls: number) => {
    const request = () => new Request('http://api.test/', { headers: { 'x-client': id } })
    const answers = await Promise.all(Array.from({ length: calls }, () => api(request())))
    return answers.filter(({ status }) => status === 200).length
  }
  const others = [await passed('a', 50), await passed('b', 50), await passed('c', 50), await passed('d', 50)]
  expect(others).toEqual([30, 30, 20, 0])
  expect(await passed('hospital', 50)).toBe(20)
})

it('Tokens of a model are reserved before and settled after, and given back where nothing was written', async () => {
  let [fails, client] = [false, 'ann']
  const app = express()
  app.use((_req, res, next) => {
    res.locals.clientId = client
    next()
  })
  const model = modelApp(async (_prompt, maxTokens) => {
    if (fails) throw new Error('the model is gone')
    return { text: 'a', tokens: Math.ceil(maxTokens / 4) }
  }, handStore().store)
  app.use(model.set('env', 'test'))
  const { port } = await serve(app)
  const ask = (maxTokens: number) => post(port, '/complete', { prompt: 'x', maxTokens })
  const left = (answer: Awaited<ReturnType<typeof ask>>) =>
    Number(/"tokens";r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1])
  expect(left(await ask(4000))).toBe(6000)
  await until('it is settled', async () => left(await ask(1)) > 8000)
  fails = true
  const before = left(await ask(1))
  expect((await ask(4000)).status).toBe(500)
  await until('it is given back', async () => left(await ask(1)) >= before - 1)
  client = 'bob'
  expect(left(await ask(4000))).toBe(6000)
})

it('Tokens of a model are counted by whom authentication has found, else by address, whatever a header claims', async () => {
  const app = express()
  app.use((req, res, next) => {
    const name = /^Bearer (.+)$/.exec(req.get('authorization') ?? '')?.[1]
    if (name !== undefined) res.locals.clientId = name
    next()
  })
  app.use(modelApp(async () => ({ text: 'a', tokens: 0 }), handStore().store))
  const { port } = await serve(app)
  const tally = async (fields: (call: number) => Record<string, string>) => {
    const statuses: number[] = []
    for (let call = 0; call < 22; call += 1)
      statuses.push((await post(port, '/complete', { maxTokens: 1 }, fields(call))).status)
    return [200, 429].map((status) => statuses.filter((seen) => seen === status).length)
  }
  expect(await tally(() => ({ authorization: 'Bearer 127.0.0.1' }))).toEqual([20, 2])
  expect(await tally((call) => ({ 'x-api-key': `made up ${call}` }))).toEqual([20, 2])
})

describe('Messages of a socket', () => {
  const limiterOf = () =>
    createLimiter({
      store: handStore().store,
      policies: [tokenBucket({ name: 'messages', capacity: 3, refillPerSecond: 0.5 })],
    })
  function socket() {
    const sent: string[] = []
    const closed: number[] = []
    return {
      sent,
      closed,
      send: (text: string) => void sent.push(text),
      close: (code: number) => void closed.push(code),
    }
  }

  it('are counted for their client over all its sockets, and told when they are too many', async () => {
    const limiter = limiterOf()
    const [one, two] = [socket(), socket()]
    const handled: string[] = []
    const first = limitMessages(limiter, 'ann', one, (text) => handled.push(text))
    const second = limitMessages(limiter, 'ann', two, (text) => handled.push(text))
    for (const text of ['a', 'b']) await first(text)
    for (const text of ['c', 'd']) await second(text)
    expect(handled).toEqual(['a', 'b', 'c'])
    expect([one.sent, two.sent]).toEqual([[], ['{"error":"refused","retryAfterSeconds":2}']])
  })

  it('fail each by itself: those after a bad one are handled, at once or later, and no promise rejects', async () => {
    const handled: string[] = []
    const failed: unknown[] = []
    const fails = (error: unknown) => failed.push(error)
    const read = (text: string) => void handled.push(JSON.parse(text))
    for (const handle of [read, async (text: string) => read(text)]) {
      const say = limitMessages(limiterOf(), 'ann', socket(), handle, fails)
      await Promise.all(['"a"', 'not json', '"b"'].map((text) => say(text)))
    }
    expect(handled).toEqual(['a', 'b', 'a', 'b'])
    expect(failed).toEqual([expect.any(SyntaxError), expect.any(SyntaxError)])
  })

  it('end the socket of who goes on all the same, and a flood at once', async () => {
    const stubborn = socket()
    const say = limitMessages(limiterOf(), 'ann', stubborn, () => {})
    for (let i = 0; i < 24; i += 1) await say('x')
    expect([stubborn.sent.length, stubborn.closed]).toEqual([20, [1008]])
    const flooding = socket()
    const flood = limitMessages(limiterOf(), 'bob', flooding, () => {})
    await Promise.all(Array.from({ length: 30 }, () => flood('x')))
    expect(flooding.closed[0]).toBe(1008)
  })
})

describe('Workers', () => {
  it('share a limit, do every job once, and wait for as long as they are told', async () => {
    const limiter = createLimiter({
      store: memoryStore(),
      policies: [tokenBucket({ name: 'calls', capacity: 5, refillPerSecond: 50 })],
    })
    const jobs = Array.from({ length: 15 }, (_, i) => i)
    const done: number[] = []
    const started = performance.now()
    const worker = () =>
      work(
        limiter,
        () => jobs.shift(),
        async (job) => void done.push(job),
        new AbortController().signal,
      )
    await Promise.all([worker(), worker(), worker()])
    expect([...done].sort((a, b) => a - b)).toEqual(Array.from({ length: 15 }, (_, i) => i))
    // Five at once, then fifty a second. Timers may be late, never early.
    expect(performance.now() - started).toBeGreaterThan(150)
  })

  it('stop when they are told to while they wait, and with an error where no job can ever be done', async () => {
    const policies = [tokenBucket({ name: 'calls', capacity: 1, refillPerSecond: 0.001 })] as const
    const stopping = new AbortController()
    let ran = 0
    const working = work(
      createLimiter({ policies }),
      () => 'job',
      async () => {
        ran += 1
      },
      stopping.signal,
    )
    await until('it waits', () => ran === 1)
    stopping.abort()
    await working
    const limiter = createLimiter({ policies, blocks: true })
    await limiter.block('suppliers-api', 'forever')
    await expect(
      work(
        limiter,
        () => 'job',
        async () => {},
        new AbortController().signal,
      ),
    ).rejects.toThrow('No job can ever be done: blocked')
  })
})
