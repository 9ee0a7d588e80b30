import { type Decision, fixedWindow, tokenBucket } from '@ratepact/server'
import { describe, expect, it } from 'vitest'
import { type Fleet, fleet, type Member } from './fleet.js'

const burst = tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 10 })
const daily = fixedWindow({ name: 'daily', quota: 1000, windowSeconds: 86_400 })
const both = [burst, daily]

/** Makes calls one after another, so many ms apart. */
async function calls(fleet: Fleet, member: Member, count: number, everyMs = 10): Promise<Decision[]> {
  const decisions: Decision[] = []
  for (let i = 0; i < count; i += 1) {
    decisions.push(await fleet.call(member))
    await fleet.clock.advance(everyMs)
  }
  return decisions
}

const sources = (decisions: readonly Decision[]) => decisions.map(({ source }) => source)
const availableOf = (decision: Decision | undefined) =>
  decision !== undefined && 'limits' in decision ? decision.limits.map(({ available }) => available) : []

describe('a process with leases', () => {
  it('asks the store until a partition is busy, and then answers by itself', async () => {
    const all = fleet(both)
    const member = all.join()
    const decisions = await calls(all, member, 300)
    expect(sources(decisions.slice(0, 8))).toEqual(Array(8).fill('store'))
    expect(new Set(sources(decisions.slice(8)))).toEqual(new Set(['lease']))
    expect(member.asked.get('consume')).toBe(8)
    // Two buckets, in 3 s: some few more at first, when it is not known yet how fast the partition is used.
    expect(member.asked.get('advance')).toBeLessThanOrEqual(20)
  })

  it('states what the store had left and what is left of the lease, as if each call had been a trip', async () => {
    const all = fleet([daily])
    const decisions = await calls(all, all.join(), 200)
    expect(decisions.map((decision) => availableOf(decision)[0])).toEqual(decisions.map((_, i) => 999 - i))
    const last = decisions.at(-1)
    expect(last).toMatchObject({ outcome: 'admitted', source: 'lease', delaySeconds: 0, replayed: false })
    expect(last).toMatchObject({
      limits: [{ policy: 'daily', quota: 1000, cost: 1, allowed: true, effectiveWindowSeconds: 86_399 }],
    })
  })

  it('answers a look out of the lease, and uses nothing by it', async () => {
    const all = fleet([daily])
    const member = all.join()
    await calls(all, member, 50)
    const looks = [await member.limiter.peek('hot'), await member.limiter.peek('hot')]
    expect(looks.map(availableOf)).toEqual([[950], [950]])
    expect(sources(looks)).toEqual(['lease', 'lease'])
  })

  it('leaves quiet partitions to the store', async () => {
    const all = fleet(both)
    const member = all.join()
    expect(new Set(sources(await calls(all, member, 40, 400)))).toEqual(new Set(['store']))
    expect(member.asked.get('advance')).toBeUndefined()
  })

  it('asks the store for what costs more than it holds, and for calls with an id', async () => {
    const all = fleet(both)
    const member = all.join({ units: 20 })
    await calls(all, member, 50)
    expect((await all.call(member, 'hot', 21)).source).toBe('store')
    expect((await all.call(member, 'hot', 1)).source).toBe('lease')
    expect((await all.clock.runUntil(member.limiter.consume('hot', { id: '1' }))).source).toBe('store')
  })

  it('leases all policies of a call or none', async () => {
    const small = tokenBucket({ name: 'small', capacity: 15, refillPerSecond: 15 })
    const all = fleet([daily, small])
    const decisions = await calls(all, all.join(), 100, 70)
    // A tenth of 15 units is not worth a lease.
    expect(new Set(sources(decisions))).toEqual(new Set(['store']))
  })

  it('gives back what a partition that has become quiet does not use', async () => {
    const all = fleet(both)
    const member = all.join()
    await calls(all, member, 100)
    const other = all.join()
    expect(availableOf(await all.clock.runUntil(other.limiter.peek('hot')))[1]).toBeLessThan(900)
    await all.clock.advance(4000)
    expect(availableOf(await all.clock.runUntil(other.limiter.peek('hot')))).toEqual([950, 900])
    expect(all.clock.pending).toBe(0)
  })

  it('gives back what it holds when it is closed', async () => {
    const all = fleet(both)
    const member = all.join()
    await calls(all, member, 100)
    await all.clock.runUntil(member.limiter.close())
    expect(all.clock.pending).toBe(0)
    expect(availableOf(await all.clock.runUntil(all.join().limiter.peek('hot')))).toEqual([910, 900])
  })

  it('is told when what it held is known no more, and goes on with the store', async () => {
    const all = fleet([daily])
    const member = all.join()
    await calls(all, member, 50)
    await all.clock.runUntil(all.join().limiter.reset('hot'))
    await calls(all, member, 200)
    expect(member.events).toEqual([
      {
        type: 'lease-lost',
        policy: 'daily',
        owner: { kind: 'client', value: 'hot' },
        units: expect.any(Number),
        times: 1,
      },
    ])
    expect(availableOf(await all.call(member))[0]).toBeGreaterThan(700)
  })

  it('gives up what it holds of a partition that it resets itself', async () => {
    const all = fleet(both)
    const member = all.join()
    await calls(all, member, 50)
    await all.clock.runUntil(member.limiter.reset('hot'))
    const first = await all.call(member)
    expect([first.source, availableOf(first)]).toEqual(['store', [999, 999]])
    expect(member.events).toEqual([])
  })

  it('holds units of no more partitions than it may', async () => {
    const all = fleet([daily])
    const member = all.join({ maxPartitions: 2 })
    const held = new Set<string>()
    for (let i = 0; i < 30; i += 1)
      for (const who of ['a', 'b', 'c', 'd'])
        if ((await all.call(member, who)).source === 'lease') held.add(who)
    expect(held).toEqual(new Set(['a', 'b']))
  })

  it('goes on out of its lease while the store is gone, until the lease ends', async () => {
    const all = fleet([burst])
    const member = all.join({ units: 100 })
    await calls(all, member, 200)
    member.crash()
    const decisions = await calls(all, member, 100, 50)
    const outcomes = decisions.map(({ outcome }) => outcome)
    expect(outcomes.slice(0, 10)).toEqual(Array(10).fill('admitted'))
    expect(outcomes.at(-1)).toBe('unavailable')
    expect(outcomes.lastIndexOf('admitted')).toBeLessThan(outcomes.indexOf('unavailable'))
  })
})

describe('what was charged to a lease', () => {
  it('goes back to it, once, when the call is given back', async () => {
    const all = fleet([daily])
    const member = all.join()
    await calls(all, member, 50)
    const adjusted = () => member.asked.get('adjust') ?? 0
    const decision = await all.call(member, 'hot', 5)
    expect(decision.source).toBe('lease')
    expect(await member.limiter.refund(decision)).toBe(true)
    expect(await member.limiter.refund(decision)).toBe(false)
    expect(adjusted()).toBe(0)
    expect(availableOf(await all.call(member))).toEqual([949])
  })

  it('goes back to the store, once, when that knows of it already', async () => {
    const all = fleet([daily])
    const member = all.join()
    await calls(all, member, 50)
    const decision = await all.call(member, 'hot', 5)
    await calls(all, member, 150)
    const { limiter } = member
    expect(await all.clock.runUntil(limiter.refund(decision))).toBe(true)
    expect(await limiter.refund(decision)).toBe(false)
    expect(member.asked.get('adjust')).toBe(1)
    await all.clock.runUntil(limiter.close())
    expect(availableOf(await all.clock.runUntil(all.join().limiter.peek('hot')))).toEqual([800])
  })

  it('is corrected to what a call really cost', async () => {
    const all = fleet([daily])
    const member = all.join()
    await calls(all, member, 50)
    const [dear, cheap] = [await all.call(member, 'hot', 5), await all.call(member, 'hot', 5)]
    expect(await all.clock.runUntil(member.limiter.settle(dear, 12))).toBe(true)
    expect(await all.clock.runUntil(member.limiter.settle(cheap, 1))).toBe(true)
    await all.clock.runUntil(member.limiter.close())
    expect(availableOf(await all.clock.runUntil(all.join().limiter.peek('hot')))).toEqual([937])
  })
})

describe('a process that crashed', () => {
  it('loses its units of a window for that window, and no more than it could hold', async () => {
    const all = fleet([daily])
    const [gone, other] = [all.join({ units: 50 }), all.join()]
    await calls(all, gone, 100)
    gone.crash()
    await all.clock.advance(60_000)
    const [left = 0] = availableOf(await all.clock.runUntil(other.limiter.peek('hot')))
    expect(left).toBeLessThanOrEqual(900)
    expect(left).toBeGreaterThanOrEqual(850)
  })

  it('has its units of a bucket flow back from the end of its lease on', async () => {
    const all = fleet([burst])
    const [gone, other] = [all.join({ units: 50 }), all.join()]
    await calls(all, gone, 300, 1)
    gone.crash()
    const left = async () => availableOf(await all.clock.runUntil(other.limiter.peek('hot')))[0] ?? 0
    const held = 1000 - (await left())
    await all.clock.advance(3000)
    expect(await left()).toBeLessThan(1000)
    await all.clock.advance((held / burst.ratePerSecond) * 1000)
    expect(await left()).toBe(1000)
  })
})

describe('several processes', () => {
  it('get about as much of a quota as they ask for alike', async () => {
    const all = fleet([daily])
    const members = [0, 1, 2, 3].map(() => all.join())
    const admitted = [0, 0, 0, 0]
    for (let i = 0; i < 400; i += 1) {
      for (const [n, member] of members.entries())
        if ((await all.call(member)).allowed) admitted[n] = (admitted[n] ?? 0) + 1
      await all.clock.advance(5)
    }
    const total = admitted.reduce((sum, own) => sum + own, 0)
    expect(total).toBeLessThanOrEqual(1000)
    expect(total).toBeGreaterThanOrEqual(990)
    expect(Math.min(...admitted)).toBeGreaterThan(220)
  })
})
