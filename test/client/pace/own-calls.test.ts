import { describe, expect, it } from 'vitest'
import { OwnCalls } from '../../../packages/client/src/pace/own-calls.js'

const windowMs = 1000
const small = { units: 10, windowMs }

describe('own calls', () => {
  it('are counted by when they were sent', () => {
    const own = new OwnCalls()
    const first = own.book(0, 1)
    own.book(10, 2)
    own.book(30, 1)
    expect(own.sent(0, 30)).toBe(3)
    expect(own.sent(-1, 10)).toBe(3)
    expect(own.sent(-1, 10, first)).toBe(2)
  })

  it('are put in their place when they are booked late', () => {
    const own = new OwnCalls()
    own.book(10, 1)
    own.book(30, 1)
    own.book(20, 5)
    expect(own.sent(15, 25)).toBe(5)
  })

  it('return once each, a window after the answer showed that they were counted', () => {
    const own = new OwnCalls()
    for (const atMs of [0, 5]) own.settled(own.book(atMs, 1), 1, atMs, atMs + windowMs)
    expect(own.nextReturnMs).toBe(1000)
    expect(own.creditDue(999)).toBe(0)
    expect(own.creditDue(1000)).toBe(1)
    expect(own.creditDue(1000)).toBe(0)
    expect(own.nextReturnMs).toBe(1005)
  })

  it('in flight are not outstanding yet, and have no return', () => {
    const own = new OwnCalls()
    const call = own.book(0, 1)
    expect(own.outstanding(-1, 50)).toBe(0)
    expect(own.nextReturnMs).toBe(Number.POSITIVE_INFINITY)
    own.settled(call, 1, 10, 1010)
    expect(own.outstanding(-1, 50)).toBe(1)
  })

  it('of a window that is over return no more', () => {
    const own = new OwnCalls()
    own.settled(own.book(0, 1), 1, 10, 1010)
    own.settled(own.book(100, 1), 1, 110, 1110)
    own.startAfresh(50)
    expect(own.outstanding(-1, 500)).toBe(1)
    expect(own.creditDue(5000)).toBe(1)
  })

  it('that an answer shows to be back are not credited again', () => {
    const own = new OwnCalls()
    own.settled(own.book(0, 1), 1, 10, 1010)
    own.settled(own.book(1, 1), 1, 11, 1011)
    own.returned(1, 5)
    expect(own.creditDue(2000)).toBe(1)
  })

  it('may have come after an answer unless they had arrived before it was asked for, or left more than it did', () => {
    const own = new OwnCalls()
    const done = own.book(0, 1)
    own.settled(done, 1, 40, 1040)
    const me = own.book(50, 1)
    const same = own.book(49, 1)
    own.book(48, 1)
    own.settled(me, 1, 75, 1075)
    expect(own.perhapsLater(50, 5, me)).toBe(2)
    own.settled(same, 1, 80, 1080)
    same.left = 6
    expect(own.perhapsLater(50, 5, me)).toBe(1)
    expect(own.perhapsLater(50, 7, me)).toBe(2)
  })

  it('take bounded memory: those of a small quota one by one, those of a large one by slots', () => {
    for (const units of [10, 1_000_000]) {
      const own = new OwnCalls()
      let oldest = 0
      for (let atMs = 0; atMs < 20_000; atMs += 1) {
        own.settled(own.book(atMs, 1), 1, atMs + 1, atMs + 1 + windowMs)
        own.creditDue(atMs)
        own.tidy(atMs - 20, atMs - 1.1 * windowMs, { units, windowMs })
        oldest = Math.max(oldest, own.size)
      }
      expect(oldest).toBeLessThan(700)
    }
  })

  it('of a day are forgotten once they were given back early', () => {
    const own = new OwnCalls()
    const day = { units: 1_000_000, windowMs: 86_400_000 }
    for (let atMs = 0; atMs < 5000; atMs += 1) {
      own.settled(own.book(atMs, 1), 1, atMs + 1, atMs + 1 + day.windowMs)
      own.startAfresh(atMs + 1)
      own.tidy(atMs - 20, atMs - day.windowMs, day)
      expect(own.size).toBeLessThan(700)
    }
  })

  it('of a large quota still add up', () => {
    const own = new OwnCalls()
    for (let atMs = 0; atMs < 800; atMs += 1) {
      own.settled(own.book(atMs, 1), 1, atMs + 1, atMs + 1 + windowMs)
      own.tidy(atMs - 20, atMs - 1.1 * windowMs, { units: 1_000_000, windowMs })
    }
    expect(own.outstanding(-1, 800)).toBe(800)
    expect(own.creditDue(2000)).toBe(800)
  })

  it('that hang are not forgotten by being old, and hold nothing else in memory', () => {
    const own = new OwnCalls()
    const hung = own.book(0, 1)
    for (let atMs = 1; atMs < 900; atMs += 1) {
      own.settled(own.book(atMs, 1), 1, atMs, atMs + windowMs)
      own.tidy(atMs - 20, atMs - windowMs, small)
    }
    expect(own.size).toBeLessThan(700)
    own.settled(hung, 1, 900, 1900)
    expect(own.nextReturnMs).toBeLessThanOrEqual(1900)
  })
})
