import { formatRateLimitPolicy, parseRateLimitPolicy, type QuotaPolicy } from '@ratepact/contract'
import { describe, expect, test } from 'vitest'

describe('writing RateLimit-Policy', () => {
  const policy: QuotaPolicy = { policy: 'burst', quota: 100, unit: 'requests', windowSeconds: 60 }

  test.each([
    ['quota and window', {}, '"burst";q=100;w=60'],
    ['no window', { windowSeconds: undefined }, '"burst";q=100'],
    ['a quota of zero', { quota: 0 }, '"burst";q=0;w=60'],
    ['another unit', { unit: 'content-bytes' }, '"burst";q=100;qu="content-bytes";w=60'],
    ['the registry’s spelling of the default unit', { unit: 'request' }, '"burst";q=100;w=60'],
    ['a partition key', { partitionKey: new Uint8Array([0, 255, 128]) }, '"burst";q=100;w=60;pk=:AP+A:'],
    ['how units come back', { refill: 'bucket' }, '"burst";q=100;w=60;ratepact-refill="bucket"'],
    ['a whole rate', { ratePerSecond: 50 }, '"burst";q=100;w=60;ratepact-rate=50'],
    ['a rate floored to three decimals', { ratePerSecond: 1.6669 }, '"burst";q=100;w=60;ratepact-rate=1.666'],
    ['a rate of three decimals as it is', { ratePerSecond: 1.001 }, '"burst";q=100;w=60;ratepact-rate=1.001'],
    ['a rate of one decimal', { ratePerSecond: 0.3 }, '"burst";q=100;w=60;ratepact-rate=0.3'],
    ['a rate that is nearly whole', { ratePerSecond: 5.0004 }, '"burst";q=100;w=60;ratepact-rate=5'],
    ['a rate just below a whole one', { ratePerSecond: 5.9999 }, '"burst";q=100;w=60;ratepact-rate=5.999'],
    ['the smallest rate', { ratePerSecond: 0.001 }, '"burst";q=100;w=60;ratepact-rate=0.001'],
  ] as const)('writes %s', (_name, change, text) => {
    expect(formatRateLimitPolicy([{ ...policy, ...(change as Partial<QuotaPolicy>) }])).toBe(text)
  })

  test('writes all parameters in one order', () => {
    const full: QuotaPolicy = {
      ratePerSecond: 1.5,
      refill: 'counter',
      partitionKey: new Uint8Array([97]),
      windowSeconds: 10,
      unit: 'tokens',
      quota: 15,
      policy: 'all',
    }
    expect(formatRateLimitPolicy([policy, full])).toBe(
      '"burst";q=100;w=60, "all";q=15;qu="tokens";w=10;pk=:YQ==:;ratepact-refill="counter";ratepact-rate=1.5',
    )
  })

  test.each([
    [
      { quota: Number.NaN },
      RangeError,
      'Expected policies[0].quota to be a whole number from 0 to 999999999999999, got NaN',
    ],
    [{ quota: 1.5 }, RangeError, 'got 1.5'],
    [{ quota: -1 }, RangeError, 'got -1'],
    [{ quota: '100' }, TypeError, 'got "100"'],
    [{ windowSeconds: 0 }, RangeError, 'Expected policies[0].windowSeconds to be a whole number from 1'],
    [{ windowSeconds: 0.5 }, RangeError, 'got 0.5'],
    [{ windowSeconds: Number.POSITIVE_INFINITY }, RangeError, 'got Infinity'],
    [{ unit: 'grüße' }, RangeError, 'Expected policies[0].unit to be a string of printable ASCII characters'],
    [{ unit: null }, TypeError, 'got null'],
    [
      { refill: 'leak' },
      TypeError,
      'Expected policies[0].refill to be one of bucket, window, log, counter, got "leak"',
    ],
    [
      { ratePerSecond: 0 },
      RangeError,
      'Expected policies[0].ratePerSecond to be a number from 0.001 to 999999999999, got 0',
    ],
    [{ ratePerSecond: 0.0009 }, RangeError, 'got 0.0009'],
    [{ ratePerSecond: Number.NaN }, RangeError, 'got NaN'],
    [{ ratePerSecond: Number.POSITIVE_INFINITY }, RangeError, 'got Infinity'],
    [{ ratePerSecond: 1e12 }, RangeError, 'got 1000000000000'],
    [{ ratePerSecond: '5' }, TypeError, 'got "5"'],
    [{ partitionKey: 'user-7' }, TypeError, 'Expected policies[0].partitionKey to be a Uint8Array'],
    [{ policy: 'é' }, RangeError, 'Expected policies[0].policy to be a string of printable ASCII characters'],
  ])('refuses %o', (change, error, message) => {
    const write = () => formatRateLimitPolicy([{ ...policy, ...(change as Partial<QuotaPolicy>) }])
    expect(write).toThrow(error)
    expect(write).toThrow(message)
  })

  test('refuses an empty list, which has no form on the wire', () => {
    expect(() => formatRateLimitPolicy([])).toThrow('Expected policies to have at least one member')
  })
})

describe('reading RateLimit-Policy', () => {
  test('drops a bad member alone and tells where it stood and why', () => {
    const result = parseRateLimitPolicy(
      '"a";q=10, b;q=1, "c";w=5, "d";q=1;w=0, "e";q=1;qu=x, "f";q=-1, ("g");q=1, "h";q=2',
    )
    expect(result).toEqual({
      status: 'ok',
      items: [
        { policy: 'a', quota: 10, unit: 'requests' },
        { policy: 'h', quota: 2, unit: 'requests' },
      ],
      dropped: [
        { index: 1, reason: 'expected the name to be a String, got a Token' },
        { index: 2, reason: 'q is missing' },
        { index: 3, reason: 'expected w to be an Integer from 1, got 0' },
        { index: 4, reason: 'expected qu to be a String, got a Token' },
        { index: 5, reason: 'expected q to be an Integer from 0, got -1' },
        { index: 6, reason: 'expected the name to be a String, got an Inner List' },
      ],
    })
  })

  test('ignores a field of which no member is left', () => {
    expect(parseRateLimitPolicy('"a";w=1')).toEqual({
      status: 'ignored',
      reason: 'no usable item; item 0: q is missing',
    })
  })

  test('keeps the last of two members with the same policy and partition', () => {
    expect(parseRateLimitPolicy('"a";q=10, b, "a";q=20, "a";q=5;pk=:YQ==:')).toMatchObject({
      items: [{ quota: 20 }, { quota: 5 }],
      dropped: [{ index: 0 }, { index: 1 }],
    })
  })

  test.each([
    ['request', 'requests'],
    ['requests', 'requests'],
    ['content-bytes', 'content-bytes'],
    ['Requests', 'Requests'],
    ['', ''],
  ])('reads the unit "%s" as "%s"', (written, unit) => {
    expect(parseRateLimitPolicy(`"a";q=1;qu="${written}"`)).toMatchObject({ items: [{ unit }] })
  })

  test.each([
    ['ratepact-refill="bucket"', { refill: 'bucket' }],
    ['ratepact-refill="window"', { refill: 'window' }],
    ['ratepact-refill="log"', { refill: 'log' }],
    ['ratepact-refill="counter"', { refill: 'counter' }],
    ['ratepact-rate=50', { ratePerSecond: 50 }],
    ['ratepact-rate=1.666', { ratePerSecond: 1.666 }],
    ['ratepact-refill=bucket', {}],
    ['ratepact-refill="BUCKET"', {}],
    ['ratepact-refill="toString"', {}],
    ['ratepact-refill', {}],
    ['ratepact-rate="50"', {}],
    ['ratepact-rate=0', {}],
    ['ratepact-rate=-1.5', {}],
    ['ratepact-rate', {}],
  ])('reads the hint %s as %o and keeps the member either way', (parameter, hints) => {
    expect(parseRateLimitPolicy(`"a";q=1;w=1;${parameter}`)).toEqual({
      status: 'ok',
      items: [{ policy: 'a', quota: 1, unit: 'requests', windowSeconds: 1, ...hints }],
      dropped: [],
    })
  })
})
