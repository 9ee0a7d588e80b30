import {
  type FieldResult,
  parseRateLimit,
  parseRateLimitPolicy,
  parseRetryAfter,
  type QuotaPolicy,
  type ServiceLimit,
} from '@ratepact/contract'
import { describe, expect, test } from 'vitest'
// biome-ignore lint/correctness/useImportExtensions: it is data, and has no .js beside it.
import data from './vectors.json' with { type: 'json' }

interface Vector {
  id: string
  header: string
  lines: string[]
  note?: string
  expect: { status: string; items?: Record<string, unknown>[]; dropped?: number[] }
  either?: boolean
}

interface RetryAfterVector {
  id: string
  value: string
  date?: string
  expect: { status: string; seconds?: number }
}

const vectors: readonly Vector[] = data.vectors
const retryAfters: readonly RetryAfterVector[] = data.retryAfter

function read(vector: Vector): FieldResult<QuotaPolicy> | FieldResult<ServiceLimit> {
  return vector.header === 'RateLimit' ? parseRateLimit(vector.lines) : parseRateLimitPolicy(vector.lines)
}

/** A result in the vectors' own terms. */
function plain(result: FieldResult<QuotaPolicy> | FieldResult<ServiceLimit>): Vector['expect'] {
  if (result.status !== 'ok') return { status: result.status }
  const items = result.items.map(({ partitionKey, ...rest }) =>
    partitionKey === undefined
      ? rest
      : { ...rest, partitionKeyHex: Buffer.from(partitionKey).toString('hex') },
  )
  return { status: 'ok', items }
}

describe('every vector is read as stated', () => {
  const strict = vectors.filter((vector) => !vector.either)

  test.each(strict)('$id $header $note', (vector) => {
    const { dropped, ...expected } = vector.expect
    const result = read(vector)
    expect(plain(result)).toEqual(expected)
    if (dropped !== undefined) expect(result).toMatchObject({ dropped: dropped.map((index) => ({ index })) })
  })

  test.each(strict.filter((vector) => vector.lines.length === 1))('$id given as a string', (vector) => {
    const parse = vector.header === 'RateLimit' ? parseRateLimit : parseRateLimitPolicy
    expect(parse(vector.lines[0])).toEqual(parse(vector.lines))
  })

  test.each(vectors.filter((vector) => vector.either))('$id either way: $note', (vector) => {
    const result = read(vector)
    const asParsed = [{ policy: 'default', available: vector.id === 'R28' ? 50 : 5 }]
    if (result.status === 'ok') expect(result.items).toMatchObject(asParsed)
    else expect(result.status).toBe('ignored')
  })

  test('there are two kinds of vectors and none is skipped', () => {
    expect(new Set(vectors.map((vector) => vector.header))).toEqual(
      new Set(['RateLimit', 'RateLimit-Policy']),
    )
    expect(strict.length).toBe(vectors.length - 2)
  })
})

describe('every Retry-After is read as stated', () => {
  const now = new Date('2026-11-30T12:00:00Z')

  test.each(retryAfters)('$id $value', (vector) => {
    const context = vector.date === undefined ? { now } : { now, date: vector.date }
    expect(parseRetryAfter(vector.value, context)).toBe(vector.expect.seconds)
  })
})
