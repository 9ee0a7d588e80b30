import {
  formatRateLimit,
  parseRateLimit,
  parseRateLimitPolicy,
  parseRetryAfter,
  parseRetryAfterMs,
  readRateLimitFields,
} from '@ratepact/contract'
import { describe, expect, test } from 'vitest'

const mega = 1 << 20

describe('fields of a megabyte are put aside unread', () => {
  test.each([
    ['members', '"a";r=1,'.repeat(mega / 8)],
    ['parameters', `"a";r=1${';a'.repeat(mega / 2)}`],
    ['spaces', ' '.repeat(mega)],
    ['spaces between', `1${' '.repeat(mega)}1`],
    ['commas', ','.repeat(mega)],
    ['digits', '9'.repeat(mega)],
    ['one open string', `"${'a'.repeat(mega)}`],
    ['one open byte sequence', `"a";pk=:${'A'.repeat(mega)}`],
    ['inner lists', '('.repeat(mega)],
    ['many empty lines', Array.from({ length: mega }, () => '')],
    ['many lines', Array.from({ length: mega / 8 }, () => '"a";r=1')],
  ])('%s', (_name, value) => {
    const ignored = { status: 'ignored', reason: 'Expected at most 65536 characters' }
    expect(parseRateLimit(value)).toEqual(ignored)
    expect(parseRateLimitPolicy(value)).toEqual(ignored)
    expect(parseRetryAfter(value)).toBeUndefined()
    expect(parseRetryAfterMs(value)).toBeUndefined()
  })
})

describe('the minimum capacities of RFC 9651 section 3', () => {
  const name = 'n'.repeat(1024)
  const parameters = Array.from({ length: 255 }, (_, index) => `;${'k'.repeat(60)}${index}`).join('')
  const key = 'A'.repeat(21_844)

  test.each([
    [
      '1024 members',
      Array.from({ length: 1024 }, (_, index) => `"policy-${index}";r=${index};t=60`).join(', '),
      1024,
    ],
    ['256 parameters with long keys', `"a"${parameters};r=1`, 1],
    ['a name of 1024 characters', `"${name}";r=1`, 1],
    ['a partition key of 16383 bytes', `"a";r=1;pk=:${key}:`, 1],
  ])('%s are read', (_name, text, count) => {
    const result = parseRateLimit(text)
    expect(result.status === 'ok' && result.items.length).toBe(count)
  })

  test('a field of exactly 65536 characters is read, and one more is not', () => {
    const text = `"${'n'.repeat(65_536 - '"";r=1'.length)}";r=1`
    expect(parseRateLimit(text).status).toBe('ok')
    expect(parseRateLimit(`${text} `).status).toBe('ignored')
  })
})

describe('values of the wrong type', () => {
  test.each([5, true, {}, [5], ['"a";r=1', null], Symbol('x')])('%o never throws', (value) => {
    const wrong = value as string
    expect(parseRateLimit(wrong).status).toBe('ignored')
    expect(parseRateLimitPolicy(wrong).status).toBe('ignored')
    expect(parseRetryAfter(wrong)).toBeUndefined()
    expect(parseRetryAfterMs(wrong)).toBeUndefined()
  })
})

describe('values that cannot be read', () => {
  function revoked(target: object): unknown {
    const { proxy, revoke } = Proxy.revocable(target, {})
    revoke()
    return proxy
  }
  const throwing = {
    get() {
      throw new Error('hostile')
    },
  }
  const array = ['"a";r=1']
  const withGetter = Object.defineProperty(['"a";r=1'], 0, throwing)
  const withoutIterator = Object.assign(['"a";r=1'], { [Symbol.iterator]: 5 })

  test.each<[string, unknown]>([
    ['a revoked Proxy of an array', revoked([])],
    ['a revoked Proxy of an object', revoked({})],
    ['a revoked Proxy of a function', revoked(() => {})],
    ['a Proxy whose members throw', new Proxy(array, throwing)],
    ['an array with a getter that throws', withGetter],
    ['an array that cannot be iterated', withoutIterator],
    ['an array with a revoked Proxy in it', [revoked([])]],
    ['an array with a Symbol in it', [Symbol('x')]],
    ['an array with a BigInt in it', [1n]],
    ['a BigInt', 1n],
    ['a text with throwing conversions', Object.assign(() => {}, { toString: throwing.get })],
  ])('%s is ignored with a reason', (_name, value) => {
    const wrong = value as string
    const ignored = { status: 'ignored', reason: expect.stringMatching(/^Expected a string/) }
    expect(parseRateLimit(wrong)).toEqual(ignored)
    expect(parseRateLimitPolicy(wrong)).toEqual(ignored)
    expect(parseRetryAfter(wrong)).toBeUndefined()
    expect(parseRetryAfterMs(wrong)).toBeUndefined()
    expect(parseRetryAfter('Sun, 06 Nov 1994 08:49:37 GMT', { date: wrong, now: new Date(0) })).toBeDefined()
    for (const xRateLimitReset of ['epoch-seconds', 'http-date', 'by-size'] as const) {
      const { limits } = readRateLimitFields(() => wrong, { xRateLimitReset })
      expect(limits.status).toBe('ignored')
      const alone = readRateLimitFields((name) => (name === 'ratelimit' ? '"a";r=1' : wrong), {
        xRateLimitReset,
      })
      expect(alone.limits.status).toBe('ok')
      expect(alone.policies.status).toBe('ignored')
      const three = readRateLimitFields(
        (name) =>
          name === 'x-ratelimit-remaining' ? '1' : name.startsWith('x-ratelimit') ? wrong : undefined,
        { xRateLimitReset },
      )
      expect(three.limits.status).toBe('ignored')
    }
  })
})

describe('a partition key that is a view', () => {
  test('brings its own bytes to the wire and nothing of the memory around it', () => {
    const around = new Uint8Array(4096).fill(0x73)
    around.set([1, 2, 3], 100)
    const view = around.subarray(100, 103)
    expect(formatRateLimit([{ policy: 'p', available: 1, partitionKey: view }])).toBe('"p";r=1;pk=:AQID:')
  })

  test('may be a Buffer, small enough to lie in the pool', () => {
    const partitionKey = Buffer.from('App-999')
    expect(partitionKey.buffer.byteLength).toBeGreaterThan(partitionKey.byteLength)
    expect(formatRateLimit([{ policy: 'p', available: 1, partitionKey }])).toBe('"p";r=1;pk=:QXBwLTk5OQ==:')
  })
})

describe('what is read', () => {
  test('is the reader’s own: changing it changes no other result', () => {
    const first = parseRateLimit('"p";r=1;pk=:YQ==:')
    if (first.status !== 'ok') throw new Error(first.status)
    first.items[0]?.partitionKey?.fill(0)
    expect(parseRateLimit('"p";r=1;pk=:YQ==:')).toMatchObject({
      items: [{ partitionKey: new Uint8Array([97]) }],
    })
  })

  test('takes __proto__ and constructor for names like any other', () => {
    const result = parseRateLimit('"__proto__";r=1, "constructor";r=2, "toString";r=3')
    expect(result.status === 'ok' && result.items.map((item) => item.policy)).toEqual([
      '__proto__',
      'constructor',
      'toString',
    ])
  })
})
