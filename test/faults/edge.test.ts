import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, createServer as createServer2 } from 'node:http2'
import { type AddressInfo, connect as connectSocket } from 'node:net'
import {
  concurrency,
  createLimiter,
  type Limiter,
  leakyBucket,
  type Policy,
  type Store,
  tokenBucket,
} from '@ratepact/server'
import { type ExpressOptions, rateLimit } from '@ratepact/server/express'
import { redisStore } from '@ratepact/server/redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startRedis, type TestRedis } from '../redis.js'
import { majors } from '../server/express/helper.js'
import { until } from '../wait.js'
import { clientOf } from './suite/ground.js'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

type Handler = (response: ServerResponse) => unknown
/** What stands before the handler; what it passes on that is no leave to go on is an error. */
type Middleware = ReturnType<typeof rateLimit>

interface Call {
  /** Settles with the status and the limits when the answer is complete, or with `gone` when it will not be. */
  readonly answer: Promise<string>
  /** Hangs up. */
  leave(): void
}

/** A server and a client that keeps its connections. */
interface Front {
  readonly connections: () => number
  /** Answers that the server has been asked for. */
  readonly responses: readonly ServerResponse[]
  ask(): Call
}

type Open = (limit: Middleware, handler: Handler) => Promise<Front>

const PATIENCE_MS = 10_000

function overHttp1(express: (typeof majors)[number][1]): Open {
  return async (limit, handler) => {
    const responses: ServerResponse[] = []
    const app = express()
    app.set('env', 'test')
    app.use((_request, response, next) => {
      responses.push(response)
      next()
    })
    app.get('/', limit, (_request, response) => void handler(response))
    const server = createServer(app).listen(0, '127.0.0.1')
    let connections = 0
    server.on('connection', () => {
      connections += 1
    })
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => {
      agent.destroy()
      server.closeAllConnections()
      server.close()
    })
    return {
      connections: () => connections,
      responses,
      ask() {
        const sent = request({ host: '127.0.0.1', port, agent, timeout: PATIENCE_MS })
        const answer = new Promise<string>((resolve) => {
          sent.on('error', () => resolve('gone'))
          sent.on('response', (got: IncomingMessage) => {
            got.on('error', () => resolve('gone'))
            got.on('end', () => resolve(`${got.statusCode} ${got.headers.ratelimit}`))
            got.resume()
          })
        })
        sent.end()
        return { answer, leave: () => sent.destroy() }
      },
    }
  }
}

/** Each call waits on its connection behind another one, which is answered when the call has been decided. */
const behindAnother: Open = async (limit, handler) => {
  const [, [, express]] = majors as [unknown, (typeof majors)[number]]
  const responses: ServerResponse[] = []
  const app = express()
  app.set('env', 'test')
  app.get('/first', () => {})
  app.get('/', (_request, response, next) => {
    responses.push(response)
    next()
  })
  app.get('/', limit, (_request, response) => void handler(response))
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    connections: () => responses.length,
    responses,
    ask() {
      const socket = connectSocket(port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write('GET /first HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n')
      return { answer: once(socket, 'close').then(() => 'gone'), leave: () => socket.destroy() }
    },
  }
}

const overHttp2: Open = async (limit, handler) => {
  const responses: ServerResponse[] = []
  const server = createServer2((request, response2) => {
    const response = response2 as unknown as ServerResponse
    responses.push(response)
    const next = (error?: unknown) => {
      if (error === undefined) return void handler(response)
      response.statusCode = 500
      response.end()
    }
    limit(request as never, Object.assign(response, { locals: {} }), next)
  }).listen(0, '127.0.0.1')
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  onTestFinished(() => {
    session.destroy()
    server.close()
  })
  return {
    connections: () => connections,
    responses,
    ask() {
      const stream = session.request({ ':path': '/' })
      const answer = new Promise<string>((resolve) => {
        let head = ''
        stream.on('response', (headers) => {
          head = `${headers[':status']} ${headers.ratelimit}`
        })
        stream.on('error', () => resolve('gone'))
        stream.on('end', () => resolve(stream.rstCode === 0 ? head : 'gone'))
        stream.resume()
      })
      return { answer, leave: () => stream.close(8) }
    },
  }
}

const fronts: readonly (readonly [string, Open])[] = [
  ...majors.map(([name, express]) => [`${name} over HTTP/1.1`, overHttp1(express)] as const),
  ['the same over HTTP/2', overHttp2],
]

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
  options: Partial<ExpressOptions> = {},
) {
  const who = `client-${++partitions}`
  const { limiter, asked, done } = watched(policies)
  const front = await open(
    rateLimit({ limiter, partition: () => who, ...options } as Parameters<typeof rateLimit>[0]),
    handler,
  )
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

describe.each([...fronts, ['Express behind another call of its connection', behindAnother] as const])(
  'A client of %s that hangs up',
  (_, open) => {
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
  },
)

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
  const socket = connectSocket((server.address() as AddressInfo).port, '127.0.0.1')
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
