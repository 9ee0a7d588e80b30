import type { Clock } from '@ratepact/contract'
import { testClock } from '@ratepact/testing'
import { describe, expect, test } from 'vitest'

describe('a test clock', () => {
  test('stands still until it is advanced, and then moves by exactly so much', async () => {
    const clock = testClock()
    expect(clock.now()).toBe(0)
    await clock.advance(1500.5)
    await clock.advance(0)
    expect(clock.now()).toBe(1500.5)
  })

  test('runs waits in the order in which they end, each at its own instant', async () => {
    const clock = testClock()
    const seen: [string, number][] = []
    for (const [name, ms] of [
      ['c', 30],
      ['a', 10],
      ['d', 30],
      ['b', 20],
      ['late', 41],
    ] as const) {
      clock.setTimeout(() => seen.push([name, clock.now()]), ms)
    }
    await clock.advance(40)
    expect(seen).toEqual([
      ['a', 10],
      ['b', 20],
      ['c', 30],
      ['d', 30],
    ])
    expect(clock.pending).toBe(1)
    expect(clock.now()).toBe(40)
  })

  test('runs a wait that ends exactly where the advance ends, and none before its time', async () => {
    const clock = testClock()
    let ran = 0
    clock.setTimeout(() => {
      ran += 1
    }, 100)
    await clock.advance(99.999)
    expect(ran).toBe(0)
    await clock.advance(0.001)
    expect(ran).toBe(1)
  })

  test('lets promises settle between two waits, so that what they start is waited for in turn', async () => {
    const clock = testClock()
    const wait = (ms: number) => new Promise<void>((resolve) => void clock.setTimeout(resolve, ms))
    const seen: number[] = []
    void (async () => {
      for (let i = 0; i < 3; i += 1) {
        await wait(10)
        seen.push(clock.now())
      }
    })()
    clock.setTimeout(() => seen.push(-clock.now()), 15)
    await clock.advance(30)
    expect(seen).toEqual([10, -15, 20, 30])
  })

  test('does not run a wait that was cleared, even by one that ends at the same instant', async () => {
    const clock = testClock()
    const seen: string[] = []
    clock.setTimeout(() => {
      clock.clearTimeout(second)
      seen.push('first')
    }, 10)
    const second = clock.setTimeout(() => seen.push('second'), 10)
    await clock.advance(50)
    clock.clearTimeout(second)
    clock.clearTimeout(undefined)
    expect(seen).toEqual(['first'])
    expect(clock.pending).toBe(0)
  })

  test('takes a wait of nothing for a millisecond, as Node does, so that no loop of such waits stands still', async () => {
    const clock = testClock()
    let turns = 0
    const again = (): void => {
      turns += 1
      clock.setTimeout(again, 0)
    }
    again()
    await clock.advance(10)
    expect(turns).toBe(11)
  })

  test('refuses timers and steps that the machine could not keep either', async () => {
    const clock = testClock()
    expect(() => clock.setTimeout(() => {}, 2 ** 31)).toThrow(
      'Expected the milliseconds of a timer to be at most 2147483647, got 2147483648',
    )
    expect(() => clock.setTimeout(() => {}, Number.NaN)).toThrow(RangeError)
    await expect(clock.advance(-1)).rejects.toThrow(
      'Expected the milliseconds to advance by to be a number from 0 to',
    )
    await expect(clock.advance(Number.NaN)).rejects.toThrow(RangeError)
    await expect(clock.advance('5' as never)).rejects.toThrow(TypeError)
    await expect(clock.runUntil(Promise.resolve(), { maxSeconds: -1 })).rejects.toThrow('Expected maxSeconds')
    await expect(clock.runUntil(Promise.resolve(), { max: 1 } as never)).rejects.toThrow(
      'Unknown option "max"',
    )
  })

  test('hands on what a wait throws', async () => {
    const clock = testClock()
    clock.setTimeout(() => {
      throw new Error('from the wait')
    }, 5)
    await expect(clock.advance(10)).rejects.toThrow('from the wait')
    await clock.advance(5)
    expect(clock.now()).toBe(10)
  })
})

describe('runUntil', () => {
  test('moves only as far as the promise needs, and gives its value', async () => {
    const clock = testClock()
    const long = new Promise<string>((resolve) => void clock.setTimeout(() => resolve('done'), 1_800_000))
    clock.setTimeout(() => {}, 1_800_001)
    expect(await clock.runUntil(long)).toBe('done')
    expect(clock.now()).toBe(1_800_000)
    expect(clock.pending).toBe(1)
  })

  test('rejects as the promise rejects', async () => {
    const clock = testClock()
    const failing = new Promise(
      (_, reject) => void clock.setTimeout(() => reject(new Error('in the end')), 10),
    )
    await expect(clock.runUntil(failing)).rejects.toThrow('in the end')
    await expect(clock.runUntil(Promise.reject(new Error('at once')))).rejects.toThrow('at once')
  })

  test('waits, without moving time, for what does not depend on the clock', async () => {
    const clock = testClock()
    const real = new Promise<number>((resolve) => setTimeout(() => resolve(7), 30))
    expect(await clock.runUntil(real)).toBe(7)
    expect(clock.now()).toBe(0)
  })

  test('gives up when the promise needs more than the seconds allowed, and leaves time where it was', async () => {
    const clock = testClock()
    const slow = new Promise<void>((resolve) => void clock.setTimeout(resolve, 60_001))
    await expect(clock.runUntil(slow, { maxSeconds: 60 })).rejects.toThrow(
      'still open after 60 s of the test clock',
    )
    expect(clock.now()).toBe(0)
    await clock.runUntil(slow, { maxSeconds: 61 })
  })

  test('gives up on a loop that never ends', async () => {
    const clock = testClock()
    const again = (): void => void clock.setTimeout(again, 1000)
    again()
    await expect(clock.runUntil(new Promise(() => {}), { maxSeconds: 100 })).rejects.toThrow(
      'still open after 100 s',
    )
  })

  test('gives up on a promise that nothing will settle', async () => {
    await expect(testClock().runUntil(new Promise(() => {}))).rejects.toThrow('Nothing is left to wait for')
  })
})

describe('movements at once', () => {
  const wait = (clock: Clock, ms: number) =>
    new Promise<void>((resolve) => void clock.setTimeout(resolve, ms))
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  test.each([1, 2, 50])('of %i runUntil overtake nothing that a settling promise waits for', async (many) => {
    const clock = testClock()
    const seen: [string, number][] = []
    for (const ms of [20, 30]) clock.setTimeout(() => seen.push([`timer ${ms}`, clock.now()]), ms)
    const chain = (async () => {
      await wait(clock, 10)
      await turn()
      await wait(clock, 5)
      seen.push(['chain', clock.now()])
    })()
    await Promise.all(Array.from({ length: many }, () => clock.runUntil(chain)))
    expect([seen, clock.now()]).toEqual([[['chain', 15]], 15])
  })

  test('of runUntil each end where they would alone', async () => {
    const clock = testClock()
    const ends = [30, 10, 20].map(async (ms) => {
      await clock.runUntil(wait(clock, ms))
      return clock.now()
    })
    expect(await Promise.all(ends)).toEqual([30, 10, 20])
  })

  test('of runUntil fail each for itself', async () => {
    const clock = testClock()
    const short = clock.runUntil(wait(clock, 20_000), { maxSeconds: 10 })
    const long = clock.runUntil(wait(clock, 30_000).then(() => 'done'))
    await expect(short).rejects.toThrow('still open after 10 s')
    expect(await long).toBe('done')
  })

  test('of advance add up, one after the other', async () => {
    const clock = testClock()
    const ends = [1000, 500, 0].map(async (ms) => {
      await clock.advance(ms)
      return clock.now()
    })
    expect(await Promise.all(ends)).toEqual([1000, 1500, 1500])
    expect(clock.now()).toBe(1500)
  })

  test('let an advance see the middle of a runUntil', async () => {
    const clock = testClock()
    let ended = false
    const done = clock.runUntil(wait(clock, 100)).then(() => {
      ended = true
    })
    await clock.advance(60)
    expect([clock.now(), ended]).toEqual([60, false])
    await done
    expect(clock.now()).toBe(100)
  })

  test('include those that the function of a wait makes, from its own instant', async () => {
    const clock = testClock()
    const seen: number[] = []
    clock.setTimeout(async () => {
      await clock.advance(200)
      seen.push(clock.now())
      await clock.runUntil(wait(clock, 100))
      seen.push(clock.now())
    }, 500)
    await clock.advance(1000)
    expect([seen, clock.now()]).toEqual([[700, 800], 1000])
  })

  test('include those that the promise of a runUntil makes', async () => {
    const clock = testClock()
    const body = async () => {
      await wait(clock, 10)
      await clock.advance(20)
      await clock.runUntil(wait(clock, 30))
      return clock.now()
    }
    expect(await clock.runUntil(body())).toBe(60)
  })

  test('all fail with what a wait throws, and time can be moved again', async () => {
    const clock = testClock()
    clock.setTimeout(() => {
      throw new Error('from the wait')
    }, 5)
    const moves = [clock.advance(10), clock.runUntil(wait(clock, 20)), clock.advance(10)]
    for (const outcome of await Promise.allSettled(moves))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'from the wait' } })
    await clock.advance(15)
    expect([clock.now(), clock.pending]).toEqual([20, 0])
  })
})

test('a wait that is not waited for runs when time passes it, and time does not pass for its sake', async () => {
  const clock = testClock()
  const seen: number[] = []
  const timer = clock.setTimeout(() => seen.push(clock.now()), 10)
  ;(timer as { unref(): void }).unref()
  const real = new Promise<number>((resolve) => setTimeout(() => resolve(7), 30))
  expect(await clock.runUntil(real)).toBe(7)
  expect([clock.now(), clock.pending, seen]).toEqual([0, 1, []])
  await clock.runUntil(new Promise<void>((resolve) => void clock.setTimeout(resolve, 20)))
  expect([clock.now(), clock.pending, seen]).toEqual([20, 0, [10]])
})
