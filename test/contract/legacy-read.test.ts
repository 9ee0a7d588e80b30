import { type FieldValue, type ReadOptions, readRateLimitFields } from '@ratepact/contract'
import { describe, expect, test } from 'vitest'

const now = new Date('2026-11-30T12:00:00Z')
const date = 'Mon, 30 Nov 2026 12:00:05 GMT'
/** 12:01:05, a minute after `date`. */
const epoch = 1_796_040_065

type Fields = Readonly<Record<string, FieldValue>>

const read = (fields: Fields, options: ReadOptions = {}) => {
  const lower = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]))
  return readRateLimitFields((name) => lower.get(name), { now, ...options })
}
const ok = (...items: object[]) => ({ status: 'ok', items, dropped: [] })
const limit = (available: number, effectiveWindowSeconds?: number) =>
  effectiveWindowSeconds === undefined
    ? { policy: 'legacy', available }
    : { policy: 'legacy', available, effectiveWindowSeconds }
const policy = (quota: number, windowSeconds?: number, policy = 'legacy') =>
  windowSeconds === undefined
    ? { policy, quota, unit: 'requests' }
    : { policy, quota, unit: 'requests', windowSeconds }
const other = (quota: number, windowSeconds: number) =>
  policy(quota, windowSeconds, `legacy-${windowSeconds}`)

describe('the examples of the drafts', () => {
  test('draft 03, with policies inside RateLimit-Limit', () => {
    const fields = {
      'RateLimit-Limit': '10, 10;w=1, 50;w=60, 1000;w=3600, 5000;w=86400',
      'RateLimit-Remaining': '9',
      'RateLimit-Reset': '1',
    }
    expect(read(fields)).toEqual({
      dialect: 'draft-3',
      limits: ok(limit(9, 1)),
      policies: ok(policy(10, 1), other(50, 60), other(1000, 3600), other(5000, 86_400)),
    })
  })

  test('draft 06, with policies in a field of their own', () => {
    const fields = {
      'RateLimit-Policy': '10;w=1, 100;w=60',
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '50',
      'RateLimit-Reset': '5',
    }
    expect(read(fields)).toEqual({
      dialect: 'draft-6',
      limits: ok(limit(50, 5)),
      policies: ok(other(10, 1), policy(100, 60)),
    })
  })

  test('draft 07, a Dictionary', () => {
    const fields = { 'RateLimit-Policy': '100;w=60', RateLimit: 'limit=100, remaining=50, reset=5' }
    expect(read(fields)).toEqual({
      dialect: 'draft-7',
      limits: ok(limit(50, 5)),
      policies: ok(policy(100, 60)),
    })
  })

  test('draft 11', () => {
    const fields = { RateLimit: '"burst";r=50;t=30', 'RateLimit-Policy': '"burst";q=100;w=60' }
    expect(read(fields)).toEqual({
      dialect: 'draft-11',
      limits: ok({ policy: 'burst', available: 50, effectiveWindowSeconds: 30 }),
      policies: ok(policy(100, 60, 'burst')),
    })
  })

  test('draft 12, and both of the newer drafts at once', () => {
    expect(read({ RateLimit: '"burst";a=50;w=30' })).toEqual({
      dialect: 'draft-12',
      limits: ok({ policy: 'burst', available: 50, effectiveWindowSeconds: 30 }),
      policies: { status: 'absent' },
    })
    expect(read({ RateLimit: '"burst";r=50;t=30;a=50;w=30' }).dialect).toBe('draft-11')
  })

  test('a limit lowered for a while, which no policy has as its number', () => {
    const fields = {
      'RateLimit-Limit': '10, 100;w=60',
      'RateLimit-Remaining': '9',
      'RateLimit-Reset': '50',
    }
    expect(read(fields)).toEqual({
      dialect: 'draft-3',
      limits: ok(limit(9, 50)),
      policies: ok(policy(10), other(100, 60)),
    })
  })
})

describe('what servers send', () => {
  test('express-rate-limit in the form of draft 6', () => {
    const fields = {
      'RateLimit-Policy': '100;w=900',
      'RateLimit-Limit': '100',
      'RateLimit-Remaining': '99',
      'RateLimit-Reset': '900',
    }
    expect(read(fields)).toEqual({
      dialect: 'draft-6',
      limits: ok(limit(99, 900)),
      policies: ok(policy(100, 900)),
    })
  })

  test('express-rate-limit in the form of draft 7, on a refusal', () => {
    const fields = {
      'RateLimit-Policy': '1;w=900',
      RateLimit: 'limit=1, remaining=0, reset=900',
      'X-RateLimit-Limit': '1',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1796083703',
    }
    expect(read(fields, { xRateLimitReset: 'epoch-seconds' })).toEqual({
      dialect: 'draft-7',
      limits: ok(limit(0, 900)),
      policies: ok(policy(1, 900)),
    })
  })

  test('express-rate-limit in the form of draft 8, by two limiters', () => {
    const fields = {
      RateLimit: '"5-in-15min"; r=4; t=900, "3-in-1min"; r=2; t=60',
      'RateLimit-Policy':
        '"5-in-15min"; q=5; w=900; pk=:MTJjYTE3YjQ5YWYy:, "3-in-1min"; q=3; w=60; pk=:MTJjYTE3YjQ5YWYy:',
    }
    expect(read(fields)).toMatchObject({
      dialect: 'draft-11',
      limits: {
        items: [
          { policy: '5-in-15min', available: 4 },
          { policy: '3-in-1min', available: 2 },
        ],
      },
      policies: {
        items: [
          { policy: '5-in-15min', quota: 5 },
          { policy: '3-in-1min', quota: 3 },
        ],
      },
    })
  })

  test('express-rate-limit in the legacy form, whose reset is a timestamp beside a Date', () => {
    const fields = {
      Date: 'Mon, 30 Nov 2026 23:53:22 GMT',
      'X-RateLimit-Limit': '100',
      'X-RateLimit-Remaining': '99',
      'X-RateLimit-Reset': '1796083703',
    }
    expect(read(fields, { xRateLimitReset: 'epoch-seconds' })).toEqual({
      dialect: 'x-ratelimit',
      limits: ok(limit(99, 901)),
      policies: ok(policy(100)),
    })
  })

  test('Fastify’s limiter, the same names with a delay', () => {
    const fields = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '99', 'X-RateLimit-Reset': '60' }
    expect(read(fields, { xRateLimitReset: 'delta-seconds' })).toEqual({
      dialect: 'x-ratelimit',
      limits: ok(limit(99, 60)),
      policies: ok(policy(100)),
    })
  })

  test('Envoy, which writes draft 03 under the names of no draft', () => {
    const fields = {
      'x-ratelimit-limit': '10, 10;w=1;name="per-ip, v4", 1000;w=3600',
      'x-ratelimit-remaining': '9',
      'x-ratelimit-reset': '1',
    }
    expect(read(fields, { xRateLimitReset: 'delta-seconds' })).toEqual({
      dialect: 'x-ratelimit',
      limits: ok(limit(9, 1)),
      policies: ok(policy(10, 1), other(1000, 3600)),
    })
  })

  test('WHOOP, which calls the window window', () => {
    const fields = {
      'X-RateLimit-Limit': '100, 100;window=60, 10000;window=86400',
      'X-RateLimit-Remaining': '98',
      'X-RateLimit-Reset': '3',
    }
    expect(read(fields, { xRateLimitReset: 'delta-seconds' })).toEqual({
      dialect: 'x-ratelimit',
      limits: ok(limit(98, 3)),
      policies: ok(policy(100, 60), other(10_000, 86_400)),
    })
  })

  test('GitLab, which writes a timestamp where the drafts have a delay', () => {
    const fields = {
      'RateLimit-Limit': '60',
      'RateLimit-Remaining': '0',
      'RateLimit-Reset': String(epoch),
      Date: date,
    }
    expect(read(fields).limits).toEqual(ok(limit(0, 60)))
  })

  test('Docker Hub, which states a policy where the limit should be, and no reset', () => {
    const fields = { 'ratelimit-limit': '100;w=21600', 'ratelimit-remaining': '76;w=21600' }
    expect(read(fields)).toEqual({
      dialect: 'draft-6',
      limits: ok(limit(76)),
      policies: ok(policy(100, 21_600)),
    })
  })

  test('Laravel, which states no reset until it refuses', () => {
    const fields = { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '59' }
    expect(read(fields, { xRateLimitReset: 'epoch-seconds' }).limits).toEqual(ok(limit(59)))
  })

  test('a server that repeats one policy, and one with two policies of the same window', () => {
    const fields = { 'RateLimit-Limit': '10, 10;w=1, 10;w=1, 90;w=60, 50;w=60', 'RateLimit-Remaining': '1' }
    expect(read(fields).policies).toEqual({
      status: 'ok',
      items: [policy(10, 1), other(50, 60)],
      dropped: [
        { index: 2, reason: 'item 1 states the same policy and partition' },
        { index: 3, reason: 'item 4 states the same policy and partition' },
      ],
    })
  })

  test('two policies of one quota, of which the first is the limit’s own', () => {
    const fields = { 'RateLimit-Limit': '10, 10;w=1, 10;w=60', 'RateLimit-Remaining': '1' }
    expect(read(fields).policies).toEqual(ok(policy(10, 1), other(10, 60)))
  })
})

describe('which dialect is read where an answer speaks several', () => {
  const newest = { RateLimit: '"burst";r=50;t=30' }
  const dictionary = { RateLimit: 'limit=100, remaining=7, reset=5' }
  const three = { 'RateLimit-Limit': '100', 'RateLimit-Remaining': '6', 'RateLimit-Reset': '5' }
  const vendor = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '5', 'X-RateLimit-Reset': '5' }
  const options = { xRateLimitReset: 'delta-seconds' } as const

  test.each([
    ['the newest before all others', { ...vendor, ...three, ...newest }, 'draft-11', 50],
    ['draft 07 before three fields', { ...vendor, ...three, ...dictionary }, 'draft-7', 7],
    ['three fields before X-RateLimit', { ...vendor, ...three }, 'draft-6', 6],
    ['X-RateLimit last', vendor, 'x-ratelimit', 5],
    [
      'the next, where RateLimit has a syntax error',
      { ...three, RateLimit: '"burst";r=50;t=30,' },
      'draft-6',
      6,
    ],
    ['the next, where RateLimit is neither', { ...three, RateLimit: 'default;r=50' }, 'draft-6', 6],
  ])('%s', (_name, fields, dialect, available) => {
    const result = read(fields, options)
    expect(result.dialect).toBe(dialect)
    expect(result.limits).toMatchObject({ items: [{ available }] })
  })

  test('a malformed member of the newest does not bring an older one back', () => {
    expect(read({ ...three, RateLimit: '"burst";t=30' })).toMatchObject({
      dialect: 'draft-11',
      limits: { status: 'ignored', reason: 'item 0: r is missing' },
    })
  })

  test('X-RateLimit says nothing to those who do not say what its reset counts', () => {
    expect(read(vendor)).toEqual({
      dialect: undefined,
      limits: { status: 'absent' },
      policies: { status: 'absent' },
    })
  })

  test('an answer with nothing of it is of no dialect', () => {
    expect(read({ RateLimit: ' ', 'RateLimit-Limit': '' }, options)).toEqual({
      dialect: undefined,
      limits: { status: 'absent' },
      policies: { status: 'absent' },
    })
  })

  test('a RateLimit of no known shape is ignored, for its reason as a List', () => {
    expect(read({ RateLimit: 'default;r=50' })).toEqual({
      dialect: undefined,
      limits: { status: 'ignored', reason: 'item 0: expected the name to be a String, got a Token' },
      policies: { status: 'absent' },
    })
  })

  test.each([
    ['"burst";q=100;w=60', 'draft-11', ok(policy(100, 60, 'burst'))],
    ['100;w=60', 'draft-6', ok(policy(100, 60))],
    ['10;w=1, 100;w=60', 'draft-6', ok(other(10, 1), other(100, 60))],
  ])('policies alone, %s, are read by their own shape', (text, dialect, policies) => {
    const result = read({ 'RateLimit-Policy': text })
    expect(result).toEqual({ dialect, limits: { status: 'absent' }, policies })
  })

  test('policies alone that are neither are of no dialect', () => {
    expect(read({ 'RateLimit-Policy': 'burst;q=100' })).toEqual({
      dialect: undefined,
      limits: { status: 'absent' },
      policies: {
        status: 'ignored',
        reason: 'no usable item; item 0: expected an Integer from 0, got a Token',
      },
    })
  })
})

describe('what a reset counts', () => {
  const seconds = (value: string, xRateLimitReset: ReadOptions['xRateLimitReset'], fields: Fields = {}) => {
    const { limits } = read(
      { 'X-RateLimit-Remaining': '1', 'X-RateLimit-Reset': value, Date: date, ...fields },
      { ...(xRateLimitReset && { xRateLimitReset }) },
    )
    return limits.status === 'ok' ? limits.items[0]?.effectiveWindowSeconds : limits
  }

  test.each([
    ['60', 'delta-seconds', 60],
    ['59.2', 'delta-seconds', 60],
    ['0', 'delta-seconds', 0],
    ['999999999', 'delta-seconds', 999_999_999],
    ['1000000000', 'delta-seconds', 0],
    [`${epoch}`, 'delta-seconds', 60],
    [`${epoch}.25`, 'delta-seconds', 61],
    [`${epoch}000`, 'delta-seconds', 60],
    [`${epoch}`, 'epoch-seconds', 60],
    [`${epoch}.3712345`, 'epoch-seconds', 61],
    [`${epoch - 3600}`, 'epoch-seconds', 0],
    ['60', 'epoch-seconds', 0],
    [`${epoch}000`, 'epoch-milliseconds', 60],
    [`${epoch}001`, 'epoch-milliseconds', 61],
    ['Mon, 30 Nov 2026 12:01:05 GMT', 'http-date', 60],
    ['Monday, 30-Nov-26 12:01:05 GMT', 'http-date', 60],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 'http-date', 0],
    ['60', 'by-size', 60],
    [`${epoch}`, 'by-size', 60],
    [`${epoch}.25`, 'by-size', 61],
    [`${epoch}000`, 'by-size', 60],
    ['Mon, 30 Nov 2026 12:01:05 GMT', 'by-size', 60],
  ] as const)('%s as %s is %d seconds', (value, meaning, expected) => {
    expect(seconds(value, meaning)).toBe(expected)
  })

  test.each([undefined, '', 'soon', '2026-11-30', 'Mon, 30 Nov 2026 12:00:05 UTC'])(
    'counts a timestamp from the local clock when Date is %o',
    (bad) => {
      expect(seconds(String(epoch), 'epoch-seconds', { Date: bad })).toBe(65)
      expect(seconds(String(epoch), 'delta-seconds', { Date: bad })).toBe(65)
      expect(seconds('Mon, 30 Nov 2026 12:01:05 GMT', 'http-date', { Date: bad })).toBe(65)
    },
  )

  test('without any clock a timestamp says nothing, and a delay as much as ever', () => {
    const options = { now: new Date(Number.NaN) }
    const read = (reset: string) =>
      readRateLimitFields((name) => ({ 'ratelimit-remaining': '1', 'ratelimit-reset': reset })[name], options)
    expect(read(String(epoch)).limits).toEqual(ok(limit(1)))
    expect(read('60').limits).toEqual(ok(limit(1, 60)))
  })

  test('takes a timestamp for one in draft 07 too', () => {
    const fields = { RateLimit: `limit=5, remaining=1, reset=${epoch}`, Date: date }
    expect(read(fields).limits).toEqual(ok(limit(1, 60)))
  })

  test('must be one of the meanings there are', () => {
    expect(() => read({}, { xRateLimitReset: 'epoch' as 'epoch-seconds' })).toThrow(
      'Expected xRateLimitReset to be one of epoch-seconds, epoch-milliseconds, delta-seconds, http-date, by-size, got "epoch"',
    )
  })
})

describe('what is malformed is ignored for a reason', () => {
  const good = { 'RateLimit-Limit': '100', 'RateLimit-Remaining': '50', 'RateLimit-Reset': '5' }

  test.each([
    ['remaining=50, reset=5', 'limit is missing'],
    ['limit=100, remaining=50', 'reset is missing'],
    ['limit=100, reset=5', 'remaining is missing'],
    ['limit=100, remaining=-1, reset=5', 'remaining: expected an Integer from 0, got -1'],
    ['limit=100, remaining=50, reset=5.5', 'reset: expected an Integer from 0, got 5.5'],
    ['limit="100", remaining=50, reset=5', 'limit: expected an Integer from 0, got a String'],
    ['limit, remaining, reset', 'limit: expected an Integer from 0, got a Boolean'],
    ['limit=(1 2), remaining=1, reset=5', 'limit: expected an Integer from 0, got an Inner List'],
    ['limit=100, remaining=50, reset=undefined', 'reset: expected an Integer from 0, got a Token'],
  ])('RateLimit: %s', (text, reason) => {
    expect(read({ RateLimit: text })).toMatchObject({
      dialect: 'draft-7',
      limits: { status: 'ignored', reason },
    })
  })

  test('the limit of a Dictionary with a fault chooses no policy', () => {
    const fields = { RateLimit: 'limit=100, remaining=x, reset=5', 'RateLimit-Policy': '10;w=1, 100;w=60' }
    expect(read(fields).policies).toEqual(ok(other(10, 1), other(100, 60)))
  })

  test('parameters, other members and repeated keys of a Dictionary do no harm', () => {
    const text = 'limit=1;x=1, remaining=9;y="z", limit=100, policy="a", reset=05;w, remaining=50'
    expect(read({ RateLimit: text })).toEqual({
      dialect: 'draft-7',
      limits: ok(limit(50, 5)),
      policies: ok(policy(100)),
    })
  })

  test.each([
    [{ 'RateLimit-Remaining': undefined }, 'ratelimit-remaining is missing'],
    [{ 'RateLimit-Remaining': '-1' }, 'ratelimit-remaining: expected an Integer from 0, got -1'],
    [{ 'RateLimit-Remaining': '9.5' }, 'ratelimit-remaining: expected an Integer from 0, got 9.5'],
    [{ 'RateLimit-Remaining': '9, 5' }, 'ratelimit-remaining: expected one Item, got 2'],
    [{ 'RateLimit-Remaining': '1e3' }, 'ratelimit-remaining: not a List: '],
    [{ 'RateLimit-Remaining': '9999999999999999' }, 'ratelimit-remaining: not a List: '],
    [{ 'RateLimit-Reset': 'NaN' }, 'ratelimit-reset: expected an Integer from 0, got a Token'],
    [{ 'RateLimit-Reset': '2026-11-30T12:00:00Z' }, 'ratelimit-reset: not a List: '],
    [{ 'RateLimit-Reset': 5 as unknown as string }, 'ratelimit-reset: Expected a string, got number'],
  ])('three fields with %o', (change, reason) => {
    const { dialect, limits } = read({ ...good, ...change })
    expect(dialect).toBe('draft-6')
    expect(limits).toMatchObject({ status: 'ignored', reason: expect.stringContaining(reason) })
  })

  test.each([
    ['-1', '5', 'x-ratelimit-remaining: expected a number from 0 to 999999999999999'],
    ['1e3', '5', 'x-ratelimit-remaining: expected a number'],
    ['0x10', '5', 'x-ratelimit-remaining: expected a number'],
    ['1000000000000000', '5', 'x-ratelimit-remaining: expected a number'],
    ['9'.repeat(400), '5', 'x-ratelimit-remaining: expected a number'],
    ['1', '-5', 'x-ratelimit-reset: expected a number'],
    ['1', '2026-11-30T12:01:05Z', 'x-ratelimit-reset: expected a number'],
    ['1', '6m0s', 'x-ratelimit-reset: expected a number'],
    ['1', '9'.repeat(400), 'x-ratelimit-reset: expected a number'],
  ])('X-RateLimit-Remaining: %s with X-RateLimit-Reset: %s', (remaining, reset, reason) => {
    const fields = { 'X-RateLimit-Remaining': remaining, 'X-RateLimit-Reset': reset }
    expect(read(fields, { xRateLimitReset: 'delta-seconds' }).limits).toMatchObject({
      status: 'ignored',
      reason: expect.stringContaining(reason),
    })
  })

  test('a reset of another meaning than was said', () => {
    const fields = { 'X-RateLimit-Remaining': '1', 'X-RateLimit-Reset': String(epoch) }
    expect(read(fields, { xRateLimitReset: 'http-date' }).limits).toEqual({
      status: 'ignored',
      reason: 'x-ratelimit-reset: not an HTTP-date',
    })
  })

  test('fractions of a vendor are rounded to the safe side, and of repeated values the stricter counts', () => {
    const read1 = (remaining: string, reset: string) =>
      read(
        { 'X-RateLimit-Remaining': remaining, 'X-RateLimit-Reset': reset },
        { xRateLimitReset: 'delta-seconds' },
      ).limits
    expect(read1('599.9', '0.1')).toEqual(ok(limit(599, 1)))
    expect(read1('4, 99', '60, 1')).toEqual(ok(limit(4, 60)))
  })

  test.each([
    ['1m', 'not a List: '],
    ['"100"', 'item 0: expected an Integer from 0, got a String'],
    ['-100, 100;w=60', 'item 0: expected an Integer from 0, got -100'],
    ['(100)', 'item 0: expected an Integer from 0, got an Inner List'],
  ])('a limit of %s takes the policies away and leaves the rest', (text, reason) => {
    expect(read({ ...good, 'RateLimit-Limit': text })).toMatchObject({
      limits: ok(limit(50, 5)),
      policies: { status: 'ignored', reason: expect.stringContaining(reason) },
    })
  })

  test('a bad policy is dropped alone', () => {
    const fields = { ...good, 'RateLimit-Policy': '10;w=0, 20, "a";q=1;w=1, 100;w=60, 50;w=x, 7;window="60"' }
    expect(read(fields).policies).toEqual({
      status: 'ok',
      items: [policy(100, 60)],
      dropped: [
        { index: 0, reason: 'expected w to be an Integer from 1, got 0' },
        { index: 1, reason: 'w is missing' },
        { index: 2, reason: 'expected an Integer from 0, got a String' },
        { index: 4, reason: 'expected w to be an Integer from 1, got a Token' },
        { index: 5, reason: 'expected window to be an Integer from 1, got a String' },
      ],
    })
  })

  test('policies with a syntax error are ignored, and the limit stays', () => {
    expect(read({ ...good, 'RateLimit-Policy': '100;w=60,' })).toMatchObject({
      limits: ok(limit(50, 5)),
      policies: { status: 'ignored', reason: expect.stringContaining('not a List: ') },
    })
  })
})
