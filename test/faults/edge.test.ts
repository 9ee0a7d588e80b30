import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import {
  concurrency,
  createLimiter,
  type Limiter,
  leakyBucket,
  type Policy,
  type Store,
  tokenBucket,
} from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { redisStore } from '@ratepact/server/redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../redis.js'
import { majors } from '../server/express/helper.js'
import { until } from '../wait.js'
import { fronts, type Handler, type Open, type Options, queues } from './edge-fronts.js'
import { clientOf } from './suite/ground.js'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

/** Far beyond what anything here takes. */
const PATIENCE_MS = 10_000

/** A limiter on the real Redis, and what the store was asked for and has carried out. */
function watched(policies: readonly Policy[]): { limiter: Limiter; asked: string[]; done: string[] } {
  const asked: string[] = []
  const done: string[] = []
  const client = clientOf(redis.port)
  const store = redisStore(client, { timeoutMs: PATIENCE_MS })
  const run: Store['run'] = async (ops, deadlineMs) => {
    const own = ops.filter(({ kind }) => kind !== 'peek')
    asked.push(...own.map(({ kind }) => kind))
    const replies = await store.run(ops, deadlineMs)
    done.push(...own.map(({ kind }, i) => (replies[i]?.admitted ? kind : `${kind} in vain`)))
    return replies
  }
  const limiter = createLimiter({ policies, store: { ...store, run } }) as Limiter
  onTestFinished(() => limiter.close())
  return { limiter, asked, done }
}

let partitions = 0

/** A limited server, at which calls can be stopped on their way. */
async function start(
  open: Open,
  policies: readonly Policy[],
  handler: Handler,
  options: Partial<Options> = {},
) {
  const who = `client-${++partitions}`
  const { limiter, asked, done } = watched(policies)
  const front = await open({ limiter, partition: () => who, ...options }, handler)
  return {
    ...front,
    who,
    limiter,
    asked,
    done,
    /** Waits until the server knows that the client of the call before has hung up. */
    noticed: () =>
      until('the server notices', () => {
        const response = front.responses.at(-1)
        if (response === undefined) return false
        const { stream } = response as { readonly stream?: { readonly destroyed: boolean } }
        return stream === undefined ? response.req.socket.destroyed : stream.destroyed
      }),
    async left() {
      const decision = await limiter.peek(who)
      return 'limits' in decision ? decision.limits.map(({ available }) => available) : []
    },
  }
}

const places = [
  tokenBucket({ name: 'units', capacity: 10, refillPerSecond: 0.0001 }),
  concurrency({ name: 'places', limit: 2, leaseSeconds: 60 }),
] as const
const queued = [
  leakyBucket({ name: 'queue', capacity: 10, leakPerSecond: 0.2 }),
  concurrency({ name: 'places', limit: 2, leaseSeconds: 60 }),
] as const

interface Gate {
  readonly reached: () => number
  pass(): Promise<void>
  open(): void
}

/** Holds back whoever comes to it. */
function gate(): Gate {
  let reached = 0
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return {
    reached: () => reached,
    pass() {
      reached += 1
      return opened
    },
    open: () => open(),
  }
}

describe.each([...fronts, ...queues])('A client of %s that hangs up', (_, open) => {
  it('before the decision is counted, and its place is free again', async () => {
    const before = gate()
    let handled = 0
    const { ask, noticed, done, left } = await start(
      open,
      places,
      (response) => {
        handled += 1
        response.end()
      },
      {
        skip: async () => {
          await before.pass()
          return false
        },
      },
    )
    const call = ask()
    await until('it is looked at', () => before.reached() === 1)
    call.leave()
    await noticed()
    before.open()
    await until('its place is free', async () => done.length === 2)
    expect(done).toEqual(['consume', 'release'])
    expect(await left()).toEqual([9, 2])
    expect(handled).toBe(1)
  })

  it('while Redis is asked is counted, and its place is free again', async () => {
    const { ask, noticed, asked, done, left, limiter, who } = await start(open, places, (response) =>
      response.end(),
    )
    await limiter.peek(who)
    redis.signal('SIGSTOP')
    const call = ask()
    try {
      await until('Redis is asked', () => asked.length === 1)
      call.leave()
      await noticed()
      expect(done).toEqual([])
    } finally {
      redis.signal('SIGCONT')
    }
    await until('its place is free', () => done.length === 2)
    expect(done).toEqual(['consume', 'release'])
    expect(await left()).toEqual([9, 2])
  })

  it('while it is held gets back all that it was charged, once', async () => {
    let handled = 0
    const { ask, noticed, done, left, limiter, who } = await start(open, queued, () => {
      handled += 1
    })
    const first = await limiter.consume(who)
    const call = ask()
    await until('it is held', () => done.length === 2)
    call.leave()
    await noticed()
    await until('it has got all back', () => done.length === 4)
    expect(done.slice(2).sort()).toEqual(['adjust', 'release'])
    await limiter.release(first)
    expect(await left()).toEqual([9, 2])
    expect(handled).toBe(0)
  })

  it('while its handler runs, or is answering, is counted, and its place is free before that ends', async () => {
    for (const begin of [() => {}, (response: ServerResponse) => response.write('begun')]) {
      const during = gate()
      const { ask, noticed, done, left } = await start(open, places, async (response) => {
        begin(response)
        await during.pass()
        response.end('the rest')
      })
      const call = ask()
      await until('it is handled', () => during.reached() === 1)
      call.leave()
      await noticed()
      await until('its place is free', () => done.length === 2)
      during.open()
      await new Promise(setImmediate)
      expect(await left()).toEqual([9, 2])
      expect(done).toEqual(['consume', 'release'])
    }
  })

  it('and is refused is answered by nobody', async () => {
    let denied = 0
    const { ask, noticed, asked, done, limiter, who } = await start(open, places, () => {}, {
      onDenied: () => {
        denied += 1
      },
    })
    await limiter.consume(who, { cost: 10 })
    redis.signal('SIGSTOP')
    const call = ask()
    try {
      await until('Redis is asked', () => asked.length === 2)
      call.leave()
      await noticed()
    } finally {
      redis.signal('SIGCONT')
    }
    await until('it is refused', () => done.length === 2)
    await new Promise(setImmediate)
    expect(done).toEqual(['consume', 'consume in vain'])
    expect(denied).toBe(0)
  })
})

describe.each(fronts)('%s', (_, open) => {
  it('gives each place back once and states the limits, with many answers on one connection', async () => {
    const { ask, connections, done, left } = await start(open, places, (response) => {
      response.write('begun')
      response.end('done')
    })
    for (let call = 0; call < 10; call += 1) {
      expect(await ask().answer).toContain(`200 "units";r=${9 - call};`)
      await until('its place is free', () => done.length === 2 * (call + 1))
    }
    expect(await ask().answer).toContain('429 "units";r=0;')
    const served = Array.from({ length: 10 }, () => ['consume', 'release']).flat()
    expect(done).toEqual([...served, 'consume in vain'])
    expect(await left()).toEqual([0, 2])
    expect(connections()).toBe(1)
  })
})

it('a client that sends many calls ahead and hangs up leaves no place taken and no warning', async () => {
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const express = majors[1]?.[1]
  if (express === undefined) throw new Error('no Express')
  const limiter = createLimiter({ policies: [concurrency({ name: 'places', limit: 50, leaseSeconds: 60 })] })
  const app = express()
  let handled = 0
  app.use(rateLimit({ limiter, partition: () => 'one' }), () => {
    handled += 1
  })
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(40))
  await until('all are handled', () => handled === 40)
  socket.destroy()
  const free = async () => {
    const decision = await limiter.peek('one')
    return 'limits' in decision && decision.limits[0]?.available === 50
  }
  await until('all places are free', free)
  expect(warnings).toEqual([])
})
