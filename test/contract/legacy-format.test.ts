import {
  formatLegacyFields,
  type LegacyDialect,
  type LegacyFormatOptions,
  type QuotaPolicy,
  type ServiceLimit,
} from '@ratepact/contract'
import { describe, expect, test } from 'vitest'

const now = new Date('2026-11-30T12:00:00Z')
const bytes = (text: string) => new TextEncoder().encode(text)
const limit = (policy: string, available: number, effectiveWindowSeconds?: number): ServiceLimit =>
  effectiveWindowSeconds === undefined ? { policy, available } : { policy, available, effectiveWindowSeconds }
const policy = (name: string, quota: number, windowSeconds?: number): QuotaPolicy =>
  windowSeconds === undefined
    ? { policy: name, quota, unit: 'requests' }
    : { policy: name, quota, unit: 'requests', windowSeconds }

const policies = [policy('second', 10, 1), policy('minute', 100, 60)]
const limits = [limit('second', 100, 1), limit('minute', 50, 5)]

describe('the examples of the drafts', () => {
  test('draft 03', () => {
    const all = [
      policy('second', 10, 1),
      policy('minute', 50, 60),
      policy('hour', 1000, 3600),
      policy('day', 5000, 86_400),
    ]
    expect(formatLegacyFields('draft-3', [limit('second', 9, 1), limit('day', 4000, 9)], all)).toEqual({
      'RateLimit-Limit': '10, 10;w=1, 50;w=60, 1000;w=3600, 5000;w=86400',
      'RateLimit-Remaining': '9',
      'RateLimit-Reset': '1',
    })
  })

  test('draft 06', () => {
    expect(formatLegacyFields('draft-6', limits, policies)).toEqual({
      'RateLimit-Policy': '10;w=1, 100;w=60',
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '50',
      'RateLimit-Reset': '5',
    })
  })

  test('draft 07', () => {
    const one = [limit('minute', 50, 5)]
    expect(formatLegacyFields('draft-7', one, [policy('minute', 100, 60)])).toEqual({
      'RateLimit-Policy': '100;w=60',
      RateLimit: 'limit=100, remaining=50, reset=5',
    })
  })

  test.each([
    [{}, '1796040005'],
    [{ xRateLimitReset: 'epoch-seconds' }, '1796040005'],
    [{ xRateLimitReset: 'epoch-milliseconds' }, '1796040005000'],
    [{ xRateLimitReset: 'delta-seconds' }, '5'],
    [{ xRateLimitReset: 'http-date' }, 'Mon, 30 Nov 2026 12:00:05 GMT'],
  ] as const)('X-RateLimit with %o', (options, reset) => {
    expect(formatLegacyFields('x-ratelimit', limits, policies, { now, ...options })).toEqual({
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '50',
      'X-RateLimit-Reset': reset,
    })
  })
})

describe('the one limit that is told of', () => {
  const told = (limits: ServiceLimit[], policies: QuotaPolicy[]) =>
    formatLegacyFields('x-ratelimit', limits, policies, { xRateLimitReset: 'delta-seconds' })

  test('has the fewest units left, and of as many the longer wait', () => {
    const all = [policy('a', 1, 1), policy('b', 2, 2), policy('c', 3, 3)]
    expect(told([limit('a', 5, 1), limit('b', 4, 1), limit('c', 9, 9)], all)).toMatchObject({
      'X-RateLimit-Limit': '2',
    })
    expect(told([limit('a', 5, 1), limit('b', 5, 3), limit('c', 5, 2)], all)).toMatchObject({
      'X-RateLimit-Limit': '2',
    })
  })

  test('is none without a window, and none that counts anything but requests', () => {
    const bandwidth = { ...policy('bytes', 1000, 60), unit: 'content-bytes' }
    const all = [policy('slots', 5), bandwidth, policy('minute', 100, 60)]
    const given = [limit('slots', 0), limit('bytes', 0, 60), limit('minute', 50, 5)]
    expect(formatLegacyFields('draft-6', given, all)).toEqual({
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '50',
      'RateLimit-Reset': '5',
      'RateLimit-Policy': '100;w=60',
    })
    for (const dialect of ['draft-3', 'draft-6', 'draft-7', 'x-ratelimit'] as const)
      expect(formatLegacyFields(dialect, given.slice(0, 2), all)).toEqual({})
  })

  test('takes its quota from the policy of its partition key, or else from that of none', () => {
    const all: QuotaPolicy[] = [
      policy('p', 1, 60),
      { ...policy('p', 2, 60), partitionKey: bytes('a') },
      { ...policy('p', 3, 60), partitionKey: bytes('b') },
    ]
    const quota = (partitionKey?: Uint8Array) =>
      told([{ ...limit('p', 0, 1), ...(partitionKey && { partitionKey }) }], all)['X-RateLimit-Limit']
    expect([quota(), quota(bytes('a')), quota(bytes('b')), quota(bytes('c'))]).toEqual(['1', '2', '3', '1'])
  })

  test('may have a policy that no window is known of', () => {
    const slow = [limit('burst', 3, 9)]
    expect(formatLegacyFields('draft-6', slow, [policy('burst', 10)])).toEqual({
      'RateLimit-Limit': '10',
      'RateLimit-Remaining': '3',
      'RateLimit-Reset': '9',
    })
    expect(formatLegacyFields('draft-3', slow, [policy('burst', 10)])['RateLimit-Limit']).toBe('10')
    expect(formatLegacyFields('draft-7', slow, [policy('burst', 10)])).toEqual({
      RateLimit: 'limit=10, remaining=3, reset=9',
    })
  })
})

describe('policies', () => {
  const stated = (limits: ServiceLimit[], policies: QuotaPolicy[]) =>
    formatLegacyFields('draft-7', limits, policies)['RateLimit-Policy']

  test('of one quota are stated once: the limit’s own, or else the longest', () => {
    const all = [policy('a', 10, 1), policy('b', 5, 9), policy('c', 10, 60), policy('d', 10, 30)]
    expect(stated([limit('b', 1, 1)], all)).toBe('10;w=60, 5;w=9')
    expect(stated([limit('a', 1, 1)], all)).toBe('10;w=1, 5;w=9')
    expect(stated([limit('d', 1, 1)], all)).toBe('10;w=30, 5;w=9')
  })

  test('with the unit spelled as the registry does count requests', () => {
    expect(stated([limit('a', 1, 1)], [{ ...policy('a', 10, 1), unit: 'request' }])).toBe('10;w=1')
  })
})

describe('a timestamp', () => {
  const reset = (options: LegacyFormatOptions, change: Partial<ServiceLimit> = {}) =>
    formatLegacyFields('x-ratelimit', [{ ...limit('p', 1, 9), ...change }], [policy('p', 1, 60)], options)[
      'X-RateLimit-Reset'
    ]
  const late = new Date('2026-11-30T12:00:00.300Z')

  test('is rounded up, from the window in milliseconds where that is known', () => {
    expect(reset({ now: late })).toBe('1796040010')
    expect(reset({ now: late }, { effectiveWindowMs: 8200 })).toBe('1796040009')
    expect(reset({ now: late, xRateLimitReset: 'epoch-milliseconds' }, { effectiveWindowMs: 8200 })).toBe(
      '1796040008500',
    )
    expect(reset({ now: late, xRateLimitReset: 'http-date' })).toBe('Mon, 30 Nov 2026 12:00:10 GMT')
  })

  test('is by the current time where none is given', () => {
    const before = Math.ceil(Date.now() / 1000)
    const stated = Number(reset({}))
    expect(stated).toBeGreaterThanOrEqual(before + 9)
    expect(stated).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 9)
  })

  test('stays within what its form can say', () => {
    const longest = { effectiveWindowSeconds: 999_999_999_999_999 }
    expect(reset({ now }, longest)).toBe('999999999999999')
    expect(reset({ now, xRateLimitReset: 'epoch-milliseconds' }, longest)).toBe('999999999999999')
    expect(reset({ now, xRateLimitReset: 'http-date' }, longest)).toBe('Fri, 31 Dec 9999 23:59:59 GMT')
    expect(reset({ now, xRateLimitReset: 'delta-seconds' }, longest)).toBe('999999999')
  })

  test('a delay is never so long that it reads as a timestamp', () => {
    const long = [limit('p', 1, 1_000_000_000)]
    expect(formatLegacyFields('draft-6', long, [policy('p', 1, 60)])['RateLimit-Reset']).toBe('999999999')
    expect(formatLegacyFields('draft-7', long, [policy('p', 1, 60)]).RateLimit).toContain('reset=999999999')
  })
})

describe('what may not be written is refused', () => {
  test.each([
    [[], policies, 'Expected limits to have at least one member, got none'],
    [limits, [], 'Expected policies to have at least one member, got none'],
    [[limit('minute', 1.5, 5)], policies, 'Expected limits[0].available to be a whole number from 0'],
    [[limit('minute', -1, 5)], policies, 'got -1'],
    [[limit('minute', Number.NaN, 5)], policies, 'got NaN'],
    [[limit('minute', 1, Number.POSITIVE_INFINITY)], policies, 'limits[0].effectiveWindowSeconds'],
    [[limit('a\r\nSet-Cookie: x', 1, 5)], policies, 'printable ASCII'],
    [
      limits,
      [...policies, policy('x', 1, 0)],
      'Expected policies[2].windowSeconds to be a whole number from 1',
    ],
    [limits, [...policies, policy('x', 0.5, 1)], 'Expected policies[2].quota'],
    [
      [...limits, limit('day', 1, 5)],
      policies,
      'Expected limits[2].policy to be stated by one of the policies, got "day"',
    ],
  ])('%o with %o', (limits, policies, message) => {
    for (const dialect of ['draft-3', 'draft-6', 'draft-7', 'x-ratelimit'] as const) {
      const write = () => formatLegacyFields(dialect, limits, policies)
      expect(write).toThrow(RangeError)
      expect(write).toThrow(message)
    }
  })

  test('an unknown dialect, a meaning that does not exist, a date that is none', () => {
    expect(() => formatLegacyFields('draft-8' as LegacyDialect, limits, policies)).toThrow(
      'Expected dialect to be one of draft-3, draft-6, draft-7, x-ratelimit, got "draft-8"',
    )
    const write = (options: object) => () => formatLegacyFields('x-ratelimit', limits, policies, options)
    expect(write({ xRateLimitReset: 'epoch' })).toThrow('Expected xRateLimitReset to be one of epoch-seconds')
    expect(write({ now: new Date(Number.NaN) })).toThrow('Expected now to be a Date from 1970 to 9999')
    expect(write({ now: new Date(-1) })).toThrow('Expected now to be a Date from 1970 to 9999')
    expect(write({ now: 1_796_040_000 })).toThrow('got 1796040000')
  })
})
