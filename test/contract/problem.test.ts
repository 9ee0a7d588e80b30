import { type ProblemType, problem, problemMediaType, problemTypes, readProblem } from '@ratepact/contract'
import { describe, expect, test } from 'vitest'

const prefix = 'https://iana.org/assignments/http-problem-types#'

describe('a problem body', () => {
  test('has the members of draft-11 section 5, in order', () => {
    const body = problem('quota-exceeded', { detail: 'Retry in 12 seconds.', violatedPolicies: ['burst'] })
    expect(JSON.stringify(body)).toBe(
      `{"type":"${prefix}quota-exceeded","title":"Quota Exceeded","status":429,` +
        '"detail":"Retry in 12 seconds.","violated-policies":["burst"]}',
    )
  })

  test.each([
    ['quota-exceeded', 'Quota Exceeded', 429],
    ['temporary-reduced-capacity', 'Temporary Reduced Capacity', 503],
    ['abnormal-usage-detected', 'Abnormal Usage Detected', 429],
  ] as const)('of %s is titled %s and has status %d', (type, title, status) => {
    expect(problem(type, {})).toEqual({ type: `${prefix}${type}`, title, status })
    expect(problemTypes[type]).toEqual({ uri: `${prefix}${type}`, title, status })
  })

  test('keeps its own list of policies', () => {
    const names = ['burst']
    const body = problem('quota-exceeded', { violatedPolicies: names })
    names.push('later')
    expect(body['violated-policies']).toEqual(['burst'])
  })

  test('is refused for an unknown type or members of the wrong type', () => {
    expect(() => problem('too-many' as ProblemType)).toThrow('Expected type to be one of quota-exceeded, ')
    expect(() => problem('toString' as ProblemType)).toThrow(TypeError)
    expect(() => problem('quota-exceeded', { detail: 5 as unknown as string })).toThrow(
      'Expected detail to be a string',
    )
    expect(() => problem('quota-exceeded', { violatedPolicies: 'burst' as unknown as string[] })).toThrow(
      'Expected violatedPolicies to be an array of strings, got "burst"',
    )
    expect(() => problem('quota-exceeded', { violatedPolicies: [5 as unknown as string] })).toThrow(TypeError)
  })
})

describe('reading a problem body', () => {
  const text = JSON.stringify(problem('quota-exceeded', { violatedPolicies: ['burst', 'day'] }))

  test.each(Object.keys(problemTypes) as ProblemType[])(
    'gives back the type and the policies of %s',
    (type) => {
      const body = JSON.stringify(problem(type, { violatedPolicies: ['burst', 'day'] }))
      expect(readProblem(problemMediaType, body)).toEqual({ type, violatedPolicies: ['burst', 'day'] })
    },
  )

  test.each([
    'application/problem+json',
    'application/problem+json; charset=utf-8',
    'Application/Problem+JSON;charset=utf-8',
    ' application/problem+json ',
  ])('takes the media type %j', (contentType) => {
    expect(readProblem(contentType, text)?.type).toBe('quota-exceeded')
  })

  test.each([
    'application/json',
    'text/html',
    'application/problem+jsonx',
    'x application/problem+json',
    '',
    null,
    undefined,
  ])('leaves the media type %j alone', (contentType) => {
    expect(readProblem(contentType, text)).toBeUndefined()
  })

  test.each([
    `http://iana.org/assignments/http-problem-types#quota-exceeded`,
    `https://www.iana.org/assignments/http-problem-types#quota-exceeded`,
    `http://www.iana.org/assignments/http-problem-types#quota-exceeded`,
  ])('takes %s for the same type', (type) => {
    expect(readProblem(problemMediaType, JSON.stringify({ type }))).toEqual({ type: 'quota-exceeded' })
  })

  test.each([
    `${prefix}quota-exceeded/`,
    `${prefix}other`,
    'quota-exceeded',
    'about:blank',
    'https://example.com/assignments/http-problem-types#quota-exceeded',
    'https://www.www.iana.org/assignments/http-problem-types#quota-exceeded',
    5,
    null,
    [`${prefix}quota-exceeded`],
  ])('leaves the type %j alone', (type) => {
    expect(readProblem(problemMediaType, JSON.stringify({ type }))).toBeUndefined()
  })

  test.each(['burst', 5, null, {}, ['burst', 5], [null]])('overlooks policies given as %j', (names) => {
    const body = JSON.stringify({ type: `${prefix}quota-exceeded`, 'violated-policies': names })
    expect(readProblem(problemMediaType, body)).toEqual({ type: 'quota-exceeded' })
  })

  test.each(['', 'null', '[]', '"x"', '5', '{', '<html>', '{"type"', '['.repeat(16_000)])(
    '%j is nothing',
    (body) => {
      expect(readProblem(problemMediaType, body)).toBeUndefined()
    },
  )

  test('leaves a body over 16 KiB unread', () => {
    const padded = (length: number) => text.padEnd(length)
    expect(readProblem(problemMediaType, padded(16_384))?.type).toBe('quota-exceeded')
    expect(readProblem(problemMediaType, padded(16_385))).toBeUndefined()
  })
})
