import { concurrency, createLimiter, type Limiter, tokenBucket } from '@ratepact/server'
import type { Answer } from '@ratepact/server/express'
import { describe, expect, it } from 'vitest'
import { until } from '../../wait.js'
import { handStore } from '../express/helper.js'
import { type Call, fronts, type Reply } from './fronts.js'

const tries = tokenBucket({ name: 'tries', capacity: 10, refillPerSecond: 0.001 })
const places = concurrency({ name: 'places', limit: 5, leaseSeconds: 60 })
const traffic = tokenBucket({
  name: 'traffic',
  capacity: 1000,
  refillPerSecond: 0.001,
  unit: 'content-bytes',
})

/** A limiter that counts what was given back or settled, and what there is left of each of its policies. */
function counting(policies: readonly (typeof tries | typeof places)[] = [tries, places]) {
  const inner = createLimiter({ policies, store: handStore().store }) as Limiter
  const done = { refund: 0, settle: 0, release: 0 }
  const counted =
    (effect: keyof typeof done) =>
    async (...args: [never, never]): Promise<boolean> => {
      const changed = await inner[effect](...args)
      if (changed) done[effect] += 1
      return changed
    }
  const limiter = {
    ...inner,
    refund: counted('refund'),
    settle: counted('settle'),
    release: counted('release'),
  }
  const left = async (): Promise<readonly number[]> => {
    const decision = await inner.peek('a')
    return 'limits' in decision ? decision.limits.map(({ available }) => available) : []
  }
  return { limiter, done, left }
}

describe.each(fronts)('What a call is charged by its outcome on $name', ({ open }) => {
  const partition = () => 'a'
  const byStatus = (call: Call): Reply => {
    if (call.header('x-status') === undefined) throw new Error('as meant')
    return { status: Number(call.header('x-status')), body: 'done' }
  }

  it.each([
    [
      'failed',
      [
        ['200', 10],
        ['302', 10],
        ['401', 9],
        ['404', 8],
        [undefined, 7],
      ],
    ],
    [
      'succeeded',
      [
        ['401', 10],
        [undefined, 10],
        ['200', 9],
        ['302', 8],
        ['500', 8],
      ],
    ],
    [
      (answer: Answer, call: Call) => answer.status === 401 && call.header('x-name') === 'Ann',
      [
        ['401', 9],
        ['200', 9],
      ],
    ],
  ] as const)('is nothing where it is charged only when %s, each once', async (chargeWhen, asked) => {
    const { limiter, done, left } = counting()
    const { ask } = await open([{ limiter, partition, chargeWhen }], byStatus)
    let calls = 0
    for (const [status, expected] of asked) {
      const headers = { 'x-name': 'Ann', ...(status && { 'x-status': status }) }
      expect((await ask('/', { headers })).status).toBe(Number(status ?? 500))
      calls += 1
      await until('the call is concluded', () => done.refund + done.release === calls)
      expect(await left()).toEqual([expected, 5])
    }
    expect(done.settle).toBe(0)
  })

  it('is what it came to: the bytes of its body, whole or in pieces, none for HEAD', async () => {
    const { limiter, done, left } = counting([traffic, places] as never)
    const answers: Answer[] = []
    const settle = (answer: Answer) => {
      answers.push(answer)
      return { traffic: answer.bytes }
    }
    const { ask } = await open([{ limiter, partition, cost: { traffic: 50 }, settle }], (call) => ({
      body: call.header('x-pieces') ? ['ü'.repeat(50), 'b'.repeat(100)] : 'ü'.repeat(150),
    }))
    await ask('/')
    await until('it is settled', () => done.settle === 1)
    expect(await left()).toEqual([700, 5])
    await ask('/', { headers: { 'x-pieces': 'yes' } })
    await until('it is settled', () => done.settle === 2)
    expect(await left()).toEqual([500, 5])
    await ask('/', { method: 'HEAD' })
    await until('it is settled', () => done.settle === 3)
    expect(await left()).toEqual([500, 5])
    expect(answers).toEqual([300, 200, 0].map((bytes) => ({ status: 200, bytes, complete: true })))
    expect(done).toMatchObject({ refund: 0, release: 0 })
  })

  it.each([204, 304])('is no byte for status %i, whatever the handler gives', async (status) => {
    const { limiter, done } = counting([traffic] as never)
    const answers: Answer[] = []
    const settle = (answer: Answer) => {
      answers.push(answer)
      return { traffic: answer.bytes }
    }
    const { ask } = await open([{ limiter, partition, cost: { traffic: 50 }, settle }], () => ({
      status,
      body: 'for nobody',
    }))
    expect((await ask('/')).status).toBe(status)
    await until('it is settled', () => done.settle === 1)
    expect(answers).toEqual([{ status, bytes: 0, complete: true }])
  })

  it('stays when the client hangs up before there is an answer, and its place is given back', async () => {
    const { limiter, done, left } = counting()
    const answers: Answer[] = []
    const finish: (() => void)[] = []
    const settle = (answer: Answer): undefined => void answers.push(answer)
    const { ask } = await open([{ limiter, partition, chargeWhen: 'failed', settle }], async () => {
      await new Promise<void>((resolve) => finish.push(resolve))
      return { status: 200, body: 'done' }
    })
    const leaving = new AbortController()
    const asked = ask('/', { signal: leaving.signal }).catch(() => 'gone')
    await until('it runs', () => finish.length === 1)
    leaving.abort()
    expect(await asked).toBe('gone')
    await until('its place is free', () => done.release === 1)
    expect(await left()).toEqual([9, 5])
    expect(answers).toEqual([{ bytes: 0, complete: false }])
    finish[0]?.()
    expect(done).toEqual({ refund: 0, settle: 0, release: 1 })
  })

  it("stays as it was where the user's function fails, with a warning, and its place is given back", async () => {
    const { limiter, done, left } = counting()
    const warnings: string[] = []
    const settle = () => Promise.reject(new Error('my fault'))
    const onWarning = (text: string) => warnings.push(text)
    const { ask } = await open([{ limiter, partition, settle, onWarning }])
    expect((await ask('/')).status).toBe(200)
    await until('its place is free', () => done.release === 1)
    expect(await left()).toEqual([9, 5])
    expect(warnings).toEqual([
      expect.stringContaining('could not be charged, so it stays charged as before: my fault'),
    ])
  })
})
