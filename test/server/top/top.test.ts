import {
  createLimiter,
  fixedWindow,
  type Limiter,
  memoryStore,
  type Offender,
  type Policy,
  tokenBucket,
} from '@ratepact/server'
import { type TestClock, testClock } from '@ratepact/testing'
import { describe, expect, it } from 'vitest'
import { farStore, refused } from '../failure/store.js'

const one = fixedWindow({ name: 'one', quota: 1, windowSeconds: 86_400, anchor: 'first-request' })

function open(options: object = {}): { readonly clock: TestClock; readonly limiter: Limiter } {
  const clock = testClock()
  return { clock, limiter: createLimiter({ policies: [one] as readonly Policy[], clock, ...options }) }
}

/** A call that no quota allows: refused without anything being kept of it. */
const dear = { cost: 2 }

/** Numbers below 1 in an order that is the same each time. */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

describe('top', () => {
  it('counts exactly while few are refused, the worst first, each with its policy', async () => {
    const { limiter } = open({
      policies: [one, tokenBucket({ name: 'all', capacity: 5, refillPerSecond: 0.001, by: 'account' })],
    })
    expect(limiter.top(10)).toEqual([])
    for (const [client, calls] of Object.entries({ a: 3, b: 1, c: 5 }))
      for (let call = 0; call < calls; call += 1) await limiter.consume({ client, account: '7' })
    expect(limiter.top(10)).toEqual([
      { kind: 'client', value: 'c', policy: 'one', atLeast: 4, atMost: 4 },
      { kind: 'client', value: 'a', policy: 'one', atLeast: 2, atMost: 2 },
    ])
    for (const client of 'defg') await limiter.consume({ client, account: '7' })
    expect(limiter.top(1)).toEqual([
      { kind: 'client', value: 'c', policy: 'one', atLeast: 4, atMost: 4 },
    ] satisfies Offender[])
    expect(limiter.top(256)).toContainEqual({
      kind: 'account',
      value: '7',
      policy: 'all',
      atLeast: 2,
      atMost: 2,
    })
  })

  it('knows those that a process refuses by itself, and no look, no block and no admission', async () => {
    const clock = testClock()
    const store = farStore(clock)
    const { limiter } = open({ clock, store, onStoreFailure: { local: { instances: 1 } }, blocks: true })
    await limiter.consume('a')
    expect((await limiter.consume('a')).source).toBe('store')
    expect((await limiter.consume('a')).source).toBe('deny-cache')
    await limiter.peek('a')
    await limiter.block('b', 60)
    expect((await limiter.consume('b')).outcome).toBe('blocked')
    store.fare(refused())
    for (let call = 0; call < 2; call += 1) await limiter.consume('c')
    expect(limiter.top(10)).toEqual([
      { kind: 'client', value: 'a', policy: 'one', atLeast: 2, atMost: 2 },
      { kind: 'client', value: 'c', policy: 'one', atLeast: 1, atMost: 1 },
    ])
  })

  it('counts a call on shards once, whichever of them refuse it', async () => {
    const { limiter } = open({
      policies: [fixedWindow({ name: 'ten', quota: 20, windowSeconds: 86_400 })],
      shards: { client: 2 },
      random: () => 0.4,
    })
    for (let call = 0; call < 23; call += 1) await limiter.consume('a')
    expect(limiter.top(1)).toEqual([{ kind: 'client', value: 'a', policy: 'ten', atLeast: 3, atMost: 3 }])
  })

  it('counts by the plan of the call', async () => {
    const daily = { name: 'daily', quota: 1, windowSeconds: 86_400 } as const
    const { limiter } = open({
      policies: undefined,
      plans: { free: [fixedWindow(daily)], paid: [fixedWindow({ ...daily, by: 'account' })] },
    })
    const who = { client: 'c', account: 'a' }
    await limiter.consume(who, { plan: 'free', ...dear })
    await limiter.consume(who, { plan: 'paid', ...dear })
    expect(limiter.top(5).map(({ kind, value }) => `${kind} ${value}`)).toEqual(['client c', 'account a'])
  })

  it.each([1, 2, 3])(
    'finds who is refused much among tens of thousands, within its bounds (%s)',
    async (seed) => {
      const { clock, limiter } = open()
      const random = chance(seed)
      const calls = new Map<string, number>()
      const total = 30_000
      for (let call = 0; call < total; call += 1) {
        if (call % 6000 === 5999) await clock.advance(60_000)
        // Ten of them make 2 % to 0.8 % of the calls each, the rest come about once.
        const busy = Math.floor(random() * 70)
        const who = busy < 10 && random() > busy * 0.06 ? `busy ${busy}` : `noise ${call}`
        calls.set(who, (calls.get(who) ?? 0) + 1)
        await limiter.consume(who, dear)
      }
      const found = limiter.top(256)
      for (const { value, atLeast, atMost } of found) {
        expect(calls.get(value)).toBeGreaterThanOrEqual(atLeast)
        expect(calls.get(value)).toBeLessThanOrEqual(atMost)
        expect(atMost - atLeast).toBeLessThanOrEqual(total / 256)
      }
      for (const [who, count] of calls)
        if (count > total / 256) expect(found.map(({ value }) => value)).toContain(who)
      expect(
        found
          .slice(0, 10)
          .map(({ value }) => value)
          .sort(),
      ).toEqual(Array.from({ length: 10 }, (_, i) => `busy ${i}`))
    },
  )

  it('forgets within six minutes', async () => {
    const { clock, limiter } = open()
    await limiter.consume('yesterday', dear)
    await clock.advance(299_000)
    await limiter.consume('today', dear)
    const values = () => limiter.top(5).map(({ value }) => value)
    expect(values()).toEqual(['today', 'yesterday'])
    await clock.advance(61_000)
    expect(values()).toEqual(['today'])
    await clock.advance(3_600_000)
    expect(values()).toEqual([])
  })

  it('takes identities as they are, and of long ones the beginning and a hash', async () => {
    const { limiter } = open()
    const whole = ['a b  c', '"}\n{\u0000', '…'.repeat(128), '__proto__']
    const long = ['x'.repeat(129), `${'x'.repeat(128)}y`, 'x'.repeat(1_000_000)]
    for (const who of [...whole, ...long]) await limiter.consume(who, dear)
    const values = limiter.top(256).map(({ value }) => value)
    expect(values.slice(0, 4)).toEqual(whole)
    expect(new Set(values.slice(4)).size).toBe(3)
    for (const value of values.slice(4)) expect(value).toMatch(/^x{64}…[0-9a-f]{12}$/)
  })

  it.each([0, 257, 1.5, '3', undefined])('refuses to list %s of them', (n) => {
    expect(() => open().limiter.top(n as number)).toThrow(
      new RangeError(
        `Expected n to be a whole number from 1 to 256, got ${typeof n === 'string' ? '"3"' : n}`,
      ),
    )
  })

  it('is refused by the compiler for policies and kinds that there are not', () => {
    const limiter = createLimiter({ policies: [one], store: memoryStore() })
    const [worst] = limiter.top(1)
    // @ts-expect-error no policy is called so
    expect(worst?.policy === 'two').toBe(false)
    // @ts-expect-error no policy counts accounts
    expect(worst?.kind === 'account').toBe(false)
  })
})
