import {
  type Draft,
  formatRateLimit,
  formatRateLimitPolicy,
  parseHttpDate,
  parseRateLimit,
  parseRateLimitPolicy,
  parseRetryAfter,
  parseRetryAfterMs,
  partitionKeyParameter,
  policyPrefix,
  type QuotaPolicy,
  readProblem,
  type ServiceLimit,
} from '@ratepact/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const largest = 999_999_999_999_999
const name = fc.oneof(
  fc.string({ unit: 'grapheme-ascii' }),
  fc.constantFrom('"', '\\', ' ', '\\"', 'a, b;r=1', "'"),
)
const whole = (min: number) =>
  fc.oneof(
    fc.integer({ min, max: 100 }),
    fc
      .maxSafeInteger()
      .map(Math.abs)
      .filter((n) => n >= min && n <= largest),
  )
const view = fc
  .tuple(fc.uint8Array({ maxLength: 40 }), fc.nat(5))
  .map(([bytes, skip]) => bytes.subarray(Math.min(skip, bytes.length)))
const pooled = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))
const partitionKey = fc.oneof(view, pooled)
const draft = fc.constantFrom<Draft[]>(11, 12, 'dual')

const limit: fc.Arbitrary<ServiceLimit> = fc
  .record(
    {
      policy: name,
      available: whole(0),
      effectiveWindowSeconds: whole(0),
      partitionKey,
      cost: whole(0),
      instances: whole(1),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    },
    { requiredKeys: ['policy', 'available'] },
  )
  .map(({ share, ...rest }) => {
    const most = rest.effectiveWindowSeconds === undefined ? undefined : rest.effectiveWindowSeconds * 1000
    if (share === undefined || most === undefined) return rest
    return { ...rest, effectiveWindowMs: Math.min(Math.floor(most * share), largest) }
  })

const policy: fc.Arbitrary<QuotaPolicy> = fc.record(
  {
    policy: name,
    quota: whole(0),
    unit: name.filter((unit) => unit !== 'request'),
    windowSeconds: whole(1),
    partitionKey,
    refill: fc.constantFrom('bucket', 'window', 'log', 'counter'),
    ratePerSecond: fc.integer({ min: 1, max: 10_000_000 }).map((thousandths) => thousandths / 1000),
  },
  { requiredKeys: ['policy', 'quota', 'unit'] },
)

const limits = fc.uniqueArray(limit, { selector: (item) => item.policy, minLength: 1, maxLength: 5 })
const policies = fc.uniqueArray(policy, { selector: (item) => item.policy, minLength: 1, maxLength: 5 })

/** A Buffer and a Uint8Array of the same bytes are the same key. */
function plain<T extends { partitionKey?: Uint8Array }>(item: T): T {
  return item.partitionKey === undefined
    ? item
    : { ...item, partitionKey: Uint8Array.from(item.partitionKey) }
}

describe('what is written is read back the same', () => {
  test('RateLimit, in every draft', () => {
    fc.assert(
      fc.property(limits, draft, (given, draft) => {
        const expected = given.map(({ cost, ...rest }) =>
          plain(cost === undefined || draft !== 12 ? rest : { ...rest, cost }),
        )
        expect(parseRateLimit(formatRateLimit(given, { draft }))).toEqual({
          status: 'ok',
          items: expected,
          dropped: [],
        })
      }),
    )
  })

  test('RateLimit-Policy', () => {
    fc.assert(
      fc.property(policies, (given) => {
        const result = parseRateLimitPolicy(formatRateLimitPolicy(given))
        expect(result).toEqual({ status: 'ok', items: given.map(plain), dropped: [] })
      }),
    )
  })

  test('one member per line, as a framework that appends would send them', () => {
    fc.assert(
      fc.property(limits, (given) => {
        const lines = given.map((item) => formatRateLimit([item]))
        expect(parseRateLimit(lines)).toEqual(parseRateLimit(formatRateLimit(given)))
        expect(lines.join(', ')).toBe(formatRateLimit(given))
      }),
    )
  })

  test('a rate of any precision is never overstated, and off by less than a thousandth', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 1_000_000, noNaN: true }), (ratePerSecond) => {
        const text = formatRateLimitPolicy([{ policy: 'p', quota: 1, unit: 'requests', ratePerSecond }])
        const result = parseRateLimitPolicy(text)
        if (result.status !== 'ok') throw new Error(result.status)
        const read = result.items[0]?.ratePerSecond ?? Number.NaN
        expect(read).toBeLessThanOrEqual(ratePerSecond)
        expect(ratePerSecond - read).toBeLessThan(0.001 + 1e-9)
        expect(formatRateLimitPolicy(result.items)).toBe(text)
      }),
    )
  })

  test('a field built from a prefix is byte for byte the field that is formatted', () => {
    fc.assert(
      fc.property(
        name,
        whole(0),
        whole(0),
        partitionKey,
        (policy, available, effectiveWindowSeconds, partitionKey) => {
          const built = `${policyPrefix(policy)};r=${available};t=${effectiveWindowSeconds}`
          expect(built + partitionKeyParameter(partitionKey)).toBe(
            formatRateLimit([{ policy, available, effectiveWindowSeconds, partitionKey }]),
          )
        },
      ),
    )
  })
})

/** Sound fields with a few characters put in, taken out or changed. */
const mutated = fc
  .tuple(
    fc.oneof(
      fc.tuple(limits, draft).map(([given, draft]) => formatRateLimit(given, { draft })),
      policies.map((given) => formatRateLimitPolicy(given)),
      fc.constantFrom(
        'Mon, 30 Nov 2026 12:00:10 GMT',
        'Tue Dec  1 12:00:00 2026',
        'Monday, 30-Nov-26 12:01:00 GMT',
        '5, 10',
      ),
    ),
    fc.array(
      fc.tuple(
        fc.nat(200),
        fc.nat(2),
        fc.oneof(fc.constantFrom(...'";,:=@%?()\\\t \n-.0aA*'), fc.string({ maxLength: 2 })),
      ),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([text, edits]) =>
    edits.reduce((current, [at, cut, put]) => {
      const place = at % (current.length + 1)
      return current.slice(0, place) + put + current.slice(place + cut)
    }, text),
  )

const anything = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  mutated,
  fc.constantFrom('', ',', '"', ':', '@1, @2'),
)

describe('reading never throws', () => {
  const isWhole = (value: number | undefined, least: number) =>
    value === undefined ||
    (Number.isInteger(value) && value >= least && value <= largest && !Object.is(value, -0))

  test('RateLimit is absent, ignored, or holds sound members that can be written again', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const result = parseRateLimit(text)
        if (result.status !== 'ok') return
        for (const item of result.items) {
          expect(isWhole(item.available, 0) && isWhole(item.effectiveWindowSeconds, 0)).toBe(true)
          expect(
            isWhole(item.cost, 0) && isWhole(item.instances, 1) && isWhole(item.effectiveWindowMs, 0),
          ).toBe(true)
        }
        expect(parseRateLimit(formatRateLimit(result.items, { draft: 12 }))).toMatchObject({
          items: result.items,
        })
      }),
      { numRuns: 1000 },
    )
  })

  test('RateLimit-Policy is absent, ignored, or holds sound members that can be written again', () => {
    fc.assert(
      fc.property(anything, (text) => {
        const result = parseRateLimitPolicy(text)
        if (result.status !== 'ok') return
        for (const item of result.items)
          expect(isWhole(item.quota, 0) && isWhole(item.windowSeconds, 1)).toBe(true)
        expect(parseRateLimitPolicy(formatRateLimitPolicy(result.items))).toMatchObject({
          items: result.items,
        })
      }),
      { numRuns: 1000 },
    )
  })

  test('Retry-After and its millisecond hint are numbers in their ranges or nothing', () => {
    const within = (value: number | undefined, most: number) =>
      value === undefined || (value >= 0 && value <= most)
    fc.assert(
      fc.property(anything, fc.date({ noInvalidDate: false }), anything, (text, now, date) => {
        expect(within(parseRetryAfter(text, { now, date }), 2_147_483_648)).toBe(true)
        expect(within(parseRetryAfterMs(text), 2_147_483_648_000)).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })

  test('dates in the form that servers send are read exactly', () => {
    const from = new Date('0001-01-01T00:00:00Z')
    const to = new Date('9999-12-31T23:59:59Z')
    fc.assert(
      fc.property(fc.date({ min: from, max: to, noInvalidDate: true }), (date) => {
        const second = Math.floor(date.getTime() / 1000) * 1000
        expect(parseHttpDate(new Date(second).toUTCString())).toBe(second)
      }),
    )
  })

  test('a problem body is one of three types or nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(readProblem('application/problem+json', text)).toBeUndefined()
      }),
    )
  })
})
