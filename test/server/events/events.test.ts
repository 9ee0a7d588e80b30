import {
  createLimiter,
  type DecisionEvent,
  type LimiterEvent,
  type Logger,
  memoryStore,
  StoreError,
  tokenBucket,
} from '@ratepact/server'
import { testClock } from '@ratepact/testing'
import { describe, expect, it } from 'vitest'
import { farStore, refused } from '../failure/store.js'

const burst = tokenBucket({ name: 'burst', capacity: 1, refillPerSecond: 0.001 })

function logger() {
  const lines: string[] = []
  const write = (level: string) => (message: string) => lines.push(`${level}: ${message}`)
  return { lines, info: write('info'), warn: write('warn'), error: write('error') }
}

function open(log?: Logger) {
  const clock = testClock()
  const store = farStore(clock)
  const events: LimiterEvent[] = []
  const decisions: DecisionEvent[] = []
  const limiter = createLimiter({
    policies: [burst],
    store,
    clock,
    denyCache: false,
    onEvent: (event) => events.push(event),
    onDecision: (event) => decisions.push(event),
    ...(log && { logger: log }),
  })
  return { clock, store, limiter, events, decisions }
}

describe('a limiter tells', () => {
  it('of refusals, a few at once and then one a second with their number', async () => {
    const { clock, limiter, events } = open()
    await limiter.consume('a')
    for (let second = 0; second < 3; second += 1) {
      for (let call = 0; call < 100; call += 1) await limiter.consume('a')
      await clock.advance(1000)
    }
    const told = events.map((event) => (event.type === 'refused' ? event.times : event.type))
    expect(told.slice(0, 10)).toEqual(Array(10).fill(1))
    expect(told.slice(10)).toEqual([91, 100])
    expect(events[0]).toEqual({ type: 'refused', violated: ['burst'], source: 'store', times: 1 })
  })

  it('of each decision, with its time, whoever made it', async () => {
    const { clock, store, limiter, decisions } = open()
    const made = [await limiter.consume('a'), await limiter.consume('a'), await limiter.peek('b')]
    store.fare('silent')
    made.push(await clock.runUntil(limiter.consume('a')))
    expect(decisions.map(({ decision }) => decision)).toEqual(made)
    expect(decisions.map(({ kind }) => kind)).toEqual(['consume', 'consume', 'peek', 'consume'])
    expect(decisions[0]?.ms).toBe(0)
    expect(decisions[3]?.ms).toBeGreaterThanOrEqual(50)
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('boom')
      },
    ],
    ['rejects', () => Promise.reject(new Error('boom'))],
  ])('and goes on when a listener or a log %s', async (_, listener) => {
    const clock = testClock()
    const store = farStore(clock)
    store.fare(refused())
    const limiter = createLimiter({
      ...{ policies: [burst], store, clock, onEvent: listener, onDecision: listener },
      logger: { info: listener, warn: listener, error: listener },
    })
    for (let call = 0; call < 10; call += 1) expect((await limiter.consume('a')).outcome).toBe('unchecked')
    await limiter.close()
  })
})

describe('a log', () => {
  it('has few lines of a long outage, with all of its calls, and one of its end', async () => {
    const log = logger()
    const { clock, store, limiter } = open(log)
    store.fare(refused())
    for (let tenth = 0; tenth < 6000; tenth += 1) {
      await limiter.consume('a')
      await clock.advance(100)
    }
    store.fare('up')
    await clock.advance(1000)
    await limiter.consume('a')
    expect(log.lines.length).toBeLessThan(18)
    expect(log.lines[0]).toBe(
      'warn: ratepact: 1 call decided without the store, which is open mode (disconnected): connect ECONNREFUSED',
    )
    expect(log.lines.filter((line) => line.includes('left alone')).length).toBe(1)
    const calls = log.lines.map((line) => Number(/ (\d+) calls? decided/.exec(line)?.[1] ?? 0))
    expect(calls.reduce((sum, count) => sum + count)).toBeGreaterThan(5300)
    expect(log.lines.at(-1)).toMatch(/^info: ratepact: the store answers again, after 60\d\.\d s$/)
  })

  it('says what is wrong with the configuration, and what to do', async () => {
    const log = logger()
    const { store, limiter } = open(log)
    store.fare(
      new StoreError('configuration', 'Redis refuses', { code: 'NOPERM', remedy: 'Give it rights.' }),
    )
    for (let call = 0; call < 100; call += 1) await limiter.consume('a')
    expect(log.lines).toEqual(['error: ratepact: Redis refuses. Give it rights.'])
  })

  it('names policies and never who calls, and nothing of refusals', async () => {
    const log = logger()
    const limiter = createLimiter({ policies: [burst], store: memoryStore({ maxBuckets: 1 }), logger: log })
    for (let who = 0; who < 50; who += 1) {
      await limiter.consume(`secret-${who}`)
      await limiter.consume(`secret-${who}`)
    }
    expect(log.lines).toEqual(
      Array(3).fill('warn: ratepact: the memory store is full and forgot a bucket of policy "burst"'),
    )
  })

  it('is written by methods of the logger that it was given', async () => {
    class Own {
      readonly lines: string[] = []
      info(message: string) {
        this.lines.push(message)
      }
      warn(message: string) {
        this.lines.push(message)
      }
      error(message: string) {
        this.lines.push(message)
      }
    }
    const own = new Own()
    const { store, limiter } = open(own)
    store.fare(refused())
    await limiter.consume('a')
    expect(own.lines.length).toBe(1)
  })
})

it.each([
  [{ logger: {} }, 'Expected logger to be a logger with info, warn and error, such as console'],
  [{ logger: 'console' }, 'got "console"'],
  [{ onDecision: 1 }, 'Expected onDecision to be a function, got 1'],
])('refuses %j', (options, message) => {
  expect(() => createLimiter({ policies: [burst], ...(options as object) })).toThrow(message)
})
