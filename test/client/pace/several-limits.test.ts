import { describe, expect, it } from 'vitest'
import { hand, policyOf } from './hand.js'

const burst = { name: 'burst', q: 10, w: 1, refill: 'bucket' } as const
const daily = { name: 'daily', q: 100, w: 86_400, refill: 'window' } as const
const key = (...bytes: number[]) => Uint8Array.from(bytes)

describe('several limits', () => {
  it('hold a call together: the one that allows least decides', () => {
    const at = hand()
    at.accept(at.send(), { r: 9, t: 1, ...burst }, { r: 1, t: 3000, ...daily })
    at.nowMs = 1500
    const [last, ...others] = at.sendAll(9)
    expect(others).toEqual([])
    if (last !== undefined) at.accept(last, { r: 9, t: 1, ...burst }, { r: 0, t: 2999, ...daily })
    at.nowMs = 5000
    expect(at.waitMs()).toBeGreaterThan(100_000)
  })

  it('are told apart by partition key: an exhausted route does not hold another', () => {
    const at = hand()
    at.accept(at.send('GET /a'), { r: 9, t: 90, pk: key(1), ...daily })
    at.accept(at.send('GET /b'), { r: 9, t: 90, pk: key(2), ...daily })
    at.accept(at.send('GET /a'), { r: 0, t: 90, pk: key(1), ...daily })
    expect(at.waitMs('GET /a')).toBeGreaterThan(50)
    expect(at.waitMs('GET /b')).toBe(0)
    expect(at.pace.limits().map((limit) => limit.partitionKey)).toEqual([key(2), key(1)])
  })

  it('without a key hold a route that was never seen; those with a key do not', () => {
    const at = hand()
    at.accept(at.send('GET /a'), { r: 0, t: 50, name: 'all', q: 100, w: 60, refill: 'window' })
    expect(at.waitMs('GET /new')).toBeGreaterThan(10_000)
    const keyed = hand()
    keyed.accept(keyed.send('GET /a'), { r: 0, t: 50, pk: key(7), ...burst })
    expect(keyed.waitMs('GET /new')).toBe(0)
  })

  it('let one call find out about a new route where a service keeps routes apart', () => {
    const at = hand()
    at.accept(at.send('GET /a'), { r: 9, t: 1, pk: key(1), ...burst })
    expect(at.sendAll(10, 'GET /new')).toHaveLength(1)
    const apart = hand()
    apart.accept(apart.send('GET /a'), { r: 9, t: 1, ...burst })
    expect(apart.sendAll(5, 'GET /new').length).toBeGreaterThan(1)
  })

  it('stop holding a route once its answers no longer state them', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, t: 50, name: 'old', q: 10, w: 60, refill: 'window' })
    expect(at.waitMs()).toBeGreaterThan(1000)
    at.nowMs = 51_000
    at.accept(at.send(), { r: 9, t: 1, ...burst })
    expect(at.pace.limits('GET /').map((limit) => limit.policy)).toEqual(['burst'])
  })

  it('keep holding a route through an answer that states nothing', () => {
    const at = hand()
    at.accept(at.send(), { r: 1, t: 50, q: 10, w: 60, refill: 'window' })
    at.nowMs = 2000
    at.accept(at.send())
    expect(at.waitMs()).toBeGreaterThan(1000)
  })

  it('count calls that were in flight when they first showed', () => {
    const at = hand()
    at.accept(at.send())
    const [first, second] = at.sendAll(8)
    at.nowMs = 60
    if (first !== undefined) at.accept(first, { r: 7, t: 1, ...burst, rate: 0.001 })
    expect(at.pace.limits()[0]?.available).toBe(0)
    at.nowMs = 65
    if (second !== undefined) at.accept(second, { r: 6, t: 1, ...burst, rate: 0.001 })
    expect(at.waitMs()).toBeGreaterThan(1000)
  })

  it('given beforehand hold every route, beside what the service states', () => {
    const at = hand({ policies: policyOf({ name: 'mine', q: 2, w: 60, refill: 'window' }) })
    at.accept(at.send(), { r: 9, t: 1, ...burst })
    at.accept(at.send(), { r: 8, t: 1, ...burst })
    expect(at.waitMs()).toBeGreaterThan(50_000)
    expect(at.waitMs('GET /other')).toBeGreaterThan(50_000)
  })

  it('take an answer that states the policy alone for an untouched quota', () => {
    const at = hand()
    at.accept(at.send(), { q: 5, w: 60, refill: 'window' })
    at.nowMs = 2000
    for (const flight of at.sendAll(9)) at.accept(flight)
    expect(at.waitMs()).toBeGreaterThan(50_000)
  })

  it('are forgotten beyond a thousand, the least recent first, and so are routes', () => {
    const at = hand()
    for (let index = 0; index < 1200; index += 1) {
      at.nowMs += 10
      at.accept(at.send(`GET /${index}`), { r: 5, t: 1, ...burst, name: `n${index}` })
    }
    const names = at.pace.limits().map((limit) => limit.policy)
    expect(names).toHaveLength(1000)
    expect(names).toContain('n1199')
    expect(names).not.toContain('n1')
  })

  it('never mistake a name for a name with a key', () => {
    const at = hand()
    at.accept(at.send('GET /a'), { r: 5, t: 1, ...burst, name: '1=a', pk: key(98) })
    at.accept(
      at.send('GET /a'),
      { r: 5, t: 1, ...burst, name: '3=1=ab' },
      { r: 5, t: 1, ...burst, name: '1=ab' },
    )
    expect(at.pace.limits()).toHaveLength(3)
  })
})

describe('what is known of limits', () => {
  it('is told in the words of the fields, in seconds', () => {
    const at = hand()
    at.accept(at.send(), { r: 0, t: 40, q: 100, w: 60, refill: 'window', pk: key(1, 2) })
    expect(at.pace.limits('GET /')).toEqual([
      {
        policy: 'api',
        partitionKey: key(1, 2),
        unit: 'requests',
        quota: 100,
        windowSeconds: 60,
        available: 0,
        waitSeconds: 40.001,
        effectiveWindowSeconds: 40,
      },
    ])
    at.nowMs = 30_000
    expect(at.pace.limits('GET /')[0]?.waitSeconds).toBeCloseTo(10, 1)
  })

  it('counts what was sent since and what came back', () => {
    const at = hand()
    at.accept(at.send(), { r: 9, t: 1, ...burst })
    at.send()
    expect(at.pace.limits()[0]?.available).toBe(8)
    at.nowMs = 150
    expect(at.pace.limits()[0]?.available).toBe(9)
  })
})
