import { describe, expect, it } from 'vitest'
import { type Quota, quotaOf } from '../../../packages/client/src/pace/quota.js'
import { type Evidence, type Mode, Votes } from '../../../packages/client/src/pace/votes.js'

const minute = quotaOf({ policy: 'api', quota: 100, unit: 'requests', windowSeconds: 60 })
const second = quotaOf({ policy: 'api', quota: 10, unit: 'requests', windowSeconds: 1 })

const calm: Evidence = {
  atMs: 10_000,
  available: 50,
  taken: 1,
  sentBetween: 0,
  outstanding: 0,
  maybe: 0,
  endMs: Number.POSITIVE_INFINITY,
  jitterMs: 5,
}

function decide(quota: Quota, change: Partial<Evidence>, times = 2, mode: Mode = 'unknown'): Mode {
  const votes = new Votes()
  for (let time = 0; time < times; time += 1) votes.weigh({ ...calm, ...change }, quota)
  return votes.decide(mode)
}

describe('what t says, twice', () => {
  it.each([
    { t: 30, mode: 'unknown', why: 'r·w/q, as a bucket states it and a window may' },
    { t: 44, mode: 'window', why: 'neither: a window counting down' },
    { t: undefined, mode: 'unknown', why: 'nothing' },
  ])('t=$t with half left is $mode: $why', ({ t, mode }) => {
    expect(decide(minute, t === undefined ? {} : { effectiveWindowSeconds: t })).toBe(mode)
  })

  it('the time to full is a bucket', () => {
    expect(decide(minute, { available: 80, effectiveWindowSeconds: 12 })).toBe('bucket')
  })

  it('all of the window with little left says nothing: a window states it too, at its beginning', () => {
    expect(decide(minute, { available: 1, effectiveWindowSeconds: 60 })).toBe('unknown')
    expect(decide(minute, { available: 10, effectiveWindowSeconds: 54 })).toBe('bucket')
  })

  it('an exhausted limit that is long in coming is a window', () => {
    expect(decide(minute, { available: 0, effectiveWindowSeconds: 40 })).toBe('window')
    expect(decide(minute, { available: 0, effectiveWindowSeconds: 1 })).toBe('unknown')
  })

  it('a t that ends well before the known edge is a bucket', () => {
    expect(decide(minute, { effectiveWindowSeconds: 30, endMs: 55_000 })).toBe('bucket')
    expect(decide(minute, { effectiveWindowSeconds: 30 })).toBe('unknown')
  })
})

describe('what comes back early', () => {
  const early = { previous: { atMs: 5000, available: 2 }, outstanding: 95 }

  it('in part and by the rate is a bucket', () => {
    expect(decide(minute, { ...early, available: 9 }, 1)).toBe('bucket')
  })

  it('all at once is a window', () => {
    expect(decide(minute, { ...early, available: 99 }, 1)).toBe('window')
  })

  it('in part but faster than whole seconds can state is a bucket of one second', () => {
    const fast = { atMs: 10_000, previous: { atMs: 9800, available: 1 }, outstanding: 9, available: 6 }
    expect(decide(second, fast, 1)).toBe('bucket')
    expect(decide(second, { ...fast, available: 9 }, 1)).toBe('window')
  })

  it('says nothing where the answer is older than the one it is compared with', () => {
    expect(decide(minute, { ...early, available: 99, previous: { atMs: 10_001, available: 2 } }, 9)).toBe(
      'unknown',
    )
  })
})

describe('the decision', () => {
  it('needs two votes, and more than the other side', () => {
    const votes = new Votes()
    votes.forWindow(2)
    expect(votes.decide('unknown')).toBe('window')
    votes.weigh({ ...calm, available: 80, effectiveWindowSeconds: 12 }, minute)
    votes.weigh({ ...calm, available: 80, effectiveWindowSeconds: 12 }, minute)
    expect(votes.decide('unknown')).toBe('unknown')
    votes.weigh({ ...calm, available: 80, effectiveWindowSeconds: 12 }, minute)
    expect(votes.decide('unknown')).toBe('bucket')
  })

  it('leaves a bucket only for a window that is ahead by more than one', () => {
    const votes = new Votes()
    votes.forWindow(1)
    votes.forWindow(1)
    expect(votes.decide('bucket')).toBe('window')
    votes.weigh({ ...calm, available: 80, effectiveWindowSeconds: 12 }, minute)
    expect(votes.decide('bucket')).toBe('bucket')
    expect(votes.decide('unknown')).toBe('window')
  })

  it('forgets slowly, so that a wrong start can be outvoted', () => {
    const votes = new Votes()
    for (let vote = 0; vote < 500; vote += 1) votes.forWindow(2)
    for (let vote = 0; vote < 30; vote += 1) {
      votes.weigh({ ...calm, available: 80, effectiveWindowSeconds: 12 }, minute)
    }
    expect(votes.decide('window')).toBe('bucket')
  })
})
