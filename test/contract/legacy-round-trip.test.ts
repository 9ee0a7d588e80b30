import {
  type FieldValue,
  formatLegacyFields,
  formatRateLimit,
  formatRateLimitPolicy,
  type LegacyDialect,
  parseRateLimit,
  parseRateLimitPolicy,
  type QuotaPolicy,
  type ResetMeaning,
  readRateLimitFields,
} from '@ratepact/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const largest = 999_999_999_999_999
const names = [
  'ratelimit',
  'ratelimit-policy',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'date',
]
const meanings: ResetMeaning[] = ['epoch-seconds', 'epoch-milliseconds', 'delta-seconds', 'http-date']
const meaning = fc.constantFrom(...meanings)
const drafts = fc.constantFrom<LegacyDialect[]>('draft-3', 'draft-6', 'draft-7')
const instant = fc.integer({ min: 0, max: 4_000_000_000 }).map((seconds) => new Date(seconds * 1000))

/** Policies of different quotas, and how much is left of each for how long. */
const state = fc
  .uniqueArray(
    fc.record({
      quota: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: largest })),
      windowSeconds: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: largest })),
      available: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: largest })),
      effectiveWindowSeconds: fc.oneof(
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 0, max: 999_999_999 }),
      ),
    }),
    { selector: (each) => each.quota, minLength: 1, maxLength: 5 },
  )
  .map((all) => all.map((each, index) => ({ ...each, policy: `p${index}` })))

type State = typeof state extends fc.Arbitrary<infer T> ? T : never

const limitsOf = (all: State) =>
  all.map(({ policy, available, effectiveWindowSeconds }) => ({ policy, available, effectiveWindowSeconds }))
const policiesOf = (all: State): QuotaPolicy[] =>
  all.map(({ policy, quota, windowSeconds }) => ({ policy, quota, unit: 'requests', windowSeconds }))

function getter(fields: Readonly<Record<string, FieldValue>>): (name: string) => FieldValue {
  const headers = new Map(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]))
  return (name) => headers.get(name)
}

/** The limit that has to be told of. */
function nearest(all: State) {
  const [first] = [...all].sort(
    (a, b) => a.available - b.available || b.effectiveWindowSeconds - a.effectiveWindowSeconds,
  )
  if (first === undefined) throw new Error('no limit')
  return first
}

describe('what is written is read back', () => {
  test('in every draft: the limit nearest to exhaustion, and the policies, its own by the name of the limit', () => {
    fc.assert(
      fc.property(state, drafts, (all, dialect) => {
        const own = nearest(all)
        const result = readRateLimitFields(
          getter(formatLegacyFields(dialect, limitsOf(all), policiesOf(all))),
        )
        expect(result.dialect).toBe(dialect)
        expect(result.limits).toEqual({
          status: 'ok',
          items: [
            {
              policy: 'legacy',
              available: own.available,
              effectiveWindowSeconds: own.effectiveWindowSeconds,
            },
          ],
          dropped: [],
        })
        if (result.policies.status !== 'ok') throw new Error(result.policies.status)
        const [told, ...others] = [...result.policies.items].sort((a) => (a.policy === 'legacy' ? -1 : 1))
        expect(told).toEqual({
          policy: 'legacy',
          quota: own.quota,
          unit: 'requests',
          windowSeconds: own.windowSeconds,
        })
        const stated = new Map(all.map((each) => [each.quota, each.windowSeconds]))
        for (const other of others) {
          expect(other.policy).toBe(`legacy-${other.windowSeconds}`)
          expect(stated.get(other.quota)).toBe(other.windowSeconds)
        }
        expect(1 + others.length + result.policies.dropped.length).toBe(all.length)
      }),
    )
  })

  test('in X-RateLimit, by a Date of whole seconds exactly and never early by any other', () => {
    fc.assert(
      fc.property(state, meaning, instant, fc.nat(999), (all, xRateLimitReset, date, ms) => {
        const own = nearest(all)
        const written = (now: Date) =>
          formatLegacyFields('x-ratelimit', limitsOf(all), policiesOf(all), { xRateLimitReset, now })
        const read = (fields: Readonly<Record<string, string>>) => {
          const { dialect, limits, policies } = readRateLimitFields(
            getter({ ...fields, date: date.toUTCString() }),
            { xRateLimitReset, now: new Date(0) },
          )
          if (limits.status !== 'ok') throw new Error(limits.status)
          expect([dialect, limits.items[0]?.available]).toEqual(['x-ratelimit', own.available])
          expect(policies).toMatchObject({ items: [{ policy: 'legacy', quota: own.quota }] })
          return limits.items[0]?.effectiveWindowSeconds
        }
        expect(read(written(date))).toBe(own.effectiveWindowSeconds)
        const later = read(written(new Date(date.getTime() + ms))) ?? -1
        expect(later).toBeGreaterThanOrEqual(own.effectiveWindowSeconds)
        expect(later).toBeLessThanOrEqual(own.effectiveWindowSeconds + 1)
      }),
    )
  })

  test('what a reader makes of a legacy answer can be written again, and read as the same', () => {
    fc.assert(
      fc.property(state, drafts, (all, dialect) => {
        const first = readRateLimitFields(getter(formatLegacyFields(dialect, limitsOf(all), policiesOf(all))))
        if (first.limits.status !== 'ok' || first.policies.status !== 'ok') throw new Error('not read')
        const again = formatLegacyFields(dialect, first.limits.items, first.policies.items)
        const second = readRateLimitFields(getter(again))
        expect(second.limits).toEqual(first.limits)
        expect(second.policies).toMatchObject({ status: 'ok', items: first.policies.items })
      }),
    )
  })
})

const token = fc.constantFrom(
  'limit',
  'remaining',
  'reset',
  'a',
  '100',
  '"p"',
  '5.5',
  '-1',
  '(1)',
  '?0',
  ':YQ==:',
)
const piece = fc.oneof(token, fc.constantFrom('=', ';', ', ', ',', ' ', 'r=1', 't=3', 'w=60', 'window=60'))
const structured = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  structured,
  fc.nat().map(String),
  fc.double().map(String),
  fc.constantFrom(
    '100, 100;w=60',
    'limit=100, remaining=50, reset=5',
    '"p";r=5;t=3',
    '1796040000',
    '1796040000000',
    'Mon, 30 Nov 2026 12:00:05 GMT',
    '9'.repeat(400),
    '999999999999999',
  ),
)
const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: text },
  { weight: 1, arbitrary: fc.array(text, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.anything() },
)
const answer = fc.dictionary(fc.constantFrom(...names), value)

describe('whatever an answer holds', () => {
  const isWhole = (value: number | undefined, least: number) =>
    value === undefined ||
    (Number.isInteger(value) && value >= least && value <= largest && !Object.is(value, -0))

  test('reading never throws, and what it gives can be written in the newest form', () => {
    fc.assert(
      fc.property(
        answer,
        fc.option(meaning, { nil: undefined }),
        fc.date({ noInvalidDate: false }),
        (fields, meaning, now) => {
          const get = getter(fields as Record<string, FieldValue>)
          const { limits, policies } = readRateLimitFields(get, {
            now,
            ...(meaning && { xRateLimitReset: meaning }),
          })
          if (limits.status === 'ok') {
            for (const limit of limits.items)
              expect(isWhole(limit.available, 0) && isWhole(limit.effectiveWindowSeconds, 0)).toBe(true)
            expect(parseRateLimit(formatRateLimit(limits.items))).toMatchObject({ status: 'ok' })
          }
          if (policies.status !== 'ok') return
          expect(parseRateLimitPolicy(formatRateLimitPolicy(policies.items))).toMatchObject({ status: 'ok' })
          for (const policy of policies.items)
            expect(isWhole(policy.quota, 0) && isWhole(policy.windowSeconds, 1)).toBe(true)
          expect(
            new Set(policies.items.map((policy) => [policy.policy, policy.partitionKey].join())).size,
          ).toBe(policies.items.length)
        },
      ),
      { numRuns: 3000 },
    )
  })

  test('a RateLimit is read as named policies or as a Dictionary, and never could be both', () => {
    const dialect = (text: string) =>
      readRateLimitFields((name) => (name === 'ratelimit' ? text : null)).dialect
    fc.assert(
      fc.property(fc.oneof(text, structured), structured, (one, other) => {
        const found = dialect(one)
        // Put after a field of the one form, nothing makes it one of the other.
        if (found === 'draft-7') expect([undefined, 'draft-7']).toContain(dialect(`${one}${other}`))
        if (found === 'draft-7') expect(parseRateLimit(one).status).toBe('ignored')
        if (found === 'draft-11' || found === 'draft-12') expect(one.trimStart().startsWith('"')).toBe(true)
        if (found === 'draft-11') expect(dialect(`${one}${other}`)).not.toBe('draft-7')
        expect(['draft-6', 'draft-3', 'x-ratelimit']).not.toContain(found)
      }),
      { numRuns: 3000 },
    )
  })

  test('no field of the newest form is taken for draft 07, nor of draft 07 for the newest', () => {
    const read = (fields: Record<string, string>) => readRateLimitFields(getter(fields)).dialect
    fc.assert(
      fc.property(state, fc.constantFrom(11, 12, 'dual'), (all, draft) => {
        const newest = formatRateLimit(limitsOf(all), { draft: draft as 11 })
        expect(read({ RateLimit: newest })).toBe(draft === 12 ? 'draft-12' : 'draft-11')
        const older = formatLegacyFields('draft-7', limitsOf(all), policiesOf(all)).RateLimit ?? ''
        expect(read({ RateLimit: older })).toBe('draft-7')
        expect(parseRateLimit(older).status).toBe('ignored')
      }),
    )
  })

  test('an answer is read as what it is, whatever older families stand beside it', () => {
    fc.assert(
      fc.property(state, answer, (all, beside) => {
        const { ratelimit, 'ratelimit-policy': _policy, ...older } = beside as Record<string, FieldValue>
        const newest = { RateLimit: formatRateLimit(limitsOf(all)) }
        const options = { xRateLimitReset: 'delta-seconds' } as const
        const alone = readRateLimitFields(getter(newest), options)
        expect(readRateLimitFields(getter({ ...older, ...newest }), options)).toEqual(alone)
      }),
    )
  })
})

describe('a field of a megabyte', () => {
  const mega = 1 << 20
  test.each([
    ['members', 'limit=1,'.repeat(mega / 8)],
    ['policies', '1;w=1,'.repeat(mega / 6)],
    ['digits', '9'.repeat(mega)],
    ['spaces between', `1${' '.repeat(mega)}1`],
    ['many lines', Array.from({ length: mega / 8 }, () => '1')],
  ])('of %s is put aside unread, in every place', (_name, long) => {
    const reason = expect.stringContaining('Expected at most 65536 characters')
    const read = (fields: Record<string, FieldValue>) =>
      readRateLimitFields(getter(fields), { xRateLimitReset: 'epoch-seconds' })
    expect(read({ ratelimit: long }).limits).toEqual({ status: 'ignored', reason })
    for (const family of ['ratelimit', 'x-ratelimit']) {
      const good = { [`${family}-limit`]: '5', [`${family}-remaining`]: '1', [`${family}-reset`]: '1' }
      const ignored = { status: 'ignored', reason }
      expect(read({ ...good, [`${family}-remaining`]: long }).limits).toEqual(ignored)
      expect(read({ ...good, [`${family}-reset`]: long }).limits).toEqual(ignored)
      expect(read({ ...good, [`${family}-limit`]: long }).policies).toEqual(ignored)
    }
    expect(read({ 'ratelimit-remaining': '1', 'ratelimit-policy': long }).policies).toEqual({
      status: 'ignored',
      reason,
    })
  })

  test('as a Date counts as none', () => {
    const get = getter({
      'ratelimit-remaining': '1',
      'ratelimit-reset': '1796040065',
      date: 'Mon, 30 Nov 2026 '.repeat(mega / 16),
    })
    const now = new Date('2026-11-30T12:01:00Z')
    expect(readRateLimitFields(get, { now }).limits).toMatchObject({ items: [{ effectiveWindowSeconds: 5 }] })
  })
})
