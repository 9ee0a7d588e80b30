import { formatRateLimit, parseRateLimit, type ServiceLimit } from '@ratepact/contract'
import { describe, expect, test } from 'vitest'

const ok = (items: ServiceLimit[]) => ({ status: 'ok', items, dropped: [] })
const bytes = (text: string) => new TextEncoder().encode(text)

describe('writing RateLimit', () => {
  const limit: ServiceLimit = { policy: 'burst', available: 50, effectiveWindowSeconds: 30 }
  const full: ServiceLimit = {
    ...limit,
    partitionKey: bytes('App-999'),
    cost: 3,
    effectiveWindowMs: 29_340,
    instances: 5,
  }

  test.each([
    ['a limit without a window', { policy: 'p', available: 0 }, {}, '"p";r=0'],
    ['draft 11 by default', limit, {}, '"burst";r=50;t=30'],
    ['draft 11', limit, { draft: 11 }, '"burst";r=50;t=30'],
    ['draft 12', limit, { draft: 12 }, '"burst";a=50;w=30'],
    ['both drafts at once', limit, { draft: 'dual' }, '"burst";r=50;t=30;a=50;w=30'],
    ['all of draft 11', full, {}, '"burst";r=50;t=30;pk=:QXBwLTk5OQ==:;ratepact-t-ms=29340;ratepact-n=5'],
    [
      'all of draft 12',
      full,
      { draft: 12 },
      '"burst";a=50;w=30;c=3;pk=:QXBwLTk5OQ==:;ratepact-t-ms=29340;ratepact-n=5',
    ],
    [
      'all of both drafts',
      full,
      { draft: 'dual' },
      '"burst";r=50;t=30;a=50;w=30;c=3;pk=:QXBwLTk5OQ==:;ratepact-t-ms=29340;ratepact-n=5',
    ],
    ['quotes and backslashes escaped', { policy: 'a "b" \\c', available: 1 }, {}, '"a \\"b\\" \\\\c";r=1'],
    [
      'an empty partition key',
      { policy: 'p', available: 1, partitionKey: new Uint8Array() },
      {},
      '"p";r=1;pk=::',
    ],
    ['the largest Integer', { policy: 'p', available: 999_999_999_999_999 }, {}, '"p";r=999999999999999'],
    ['minus zero as zero', { policy: 'p', available: -0, effectiveWindowSeconds: -0 }, {}, '"p";r=0;t=0'],
  ] as const)('writes %s', (_name, given, options, text) => {
    expect(formatRateLimit([given], options)).toBe(text)
  })

  test('parts several members by a comma and a space, in the order given', () => {
    const limits = [limit, { policy: 'day', available: 9 }, { policy: 'a', available: 1 }]
    expect(formatRateLimit(limits)).toBe('"burst";r=50;t=30, "day";r=9, "a";r=1')
  })

  test.each([
    [
      { available: Number.NaN },
      RangeError,
      'Expected limits[0].available to be a whole number from 0 to 999999999999999, got NaN',
    ],
    [{ available: Number.POSITIVE_INFINITY }, RangeError, 'got Infinity'],
    [{ available: 5.9999 }, RangeError, 'got 5.9999'],
    [{ available: 0.0001 }, RangeError, 'got 0.0001'],
    [{ available: -1 }, RangeError, 'got -1'],
    [{ available: 1e15 }, RangeError, 'got 1000000000000000'],
    [{ available: '5' }, TypeError, 'got "5"'],
    [{ available: 5n }, TypeError, 'got 5'],
    [{ available: undefined }, TypeError, 'got undefined'],
    [{ available: null }, TypeError, 'got null'],
    [{ available: {} }, TypeError, 'got an object'],
    [
      { effectiveWindowSeconds: 1.5 },
      RangeError,
      'Expected limits[0].effectiveWindowSeconds to be a whole number',
    ],
    [{ effectiveWindowSeconds: -1 }, RangeError, 'got -1'],
    [{ cost: -1 }, RangeError, 'Expected limits[0].cost to be a whole number from 0'],
    [{ instances: 0 }, RangeError, 'Expected limits[0].instances to be a whole number from 1'],
    [
      { effectiveWindowMs: 30_001 },
      RangeError,
      'Expected limits[0].effectiveWindowMs to be a whole number from 0 to 30000, got 30001',
    ],
    [{ effectiveWindowMs: 12.5 }, RangeError, 'got 12.5'],
    [
      { effectiveWindowMs: 5, effectiveWindowSeconds: undefined },
      TypeError,
      'given only together with effectiveWindowSeconds',
    ],
    [
      { effectiveWindowMs: 1e15, effectiveWindowSeconds: 1e14 },
      RangeError,
      'to 999999999999999, got 1000000000000000',
    ],
    [
      { policy: 'café' },
      RangeError,
      'Expected limits[0].policy to be a string of printable ASCII characters, got "café"',
    ],
    [{ policy: 'a\nb' }, RangeError, 'got "a\\nb"'],
    [{ policy: 'a\r\nSet-Cookie: x' }, RangeError, 'printable ASCII'],
    [{ policy: '\x7f' }, RangeError, 'printable ASCII'],
    [{ policy: 5 }, TypeError, 'got 5'],
    [{ policy: undefined }, TypeError, 'got undefined'],
    [{ partitionKey: 'abc' }, TypeError, 'Expected limits[0].partitionKey to be a Uint8Array, got "abc"'],
    [{ partitionKey: new ArrayBuffer(2) }, TypeError, 'a Uint8Array'],
    [{ partitionKey: new DataView(new ArrayBuffer(2)) }, TypeError, 'a Uint8Array'],
    [{ partitionKey: new Uint16Array(2) }, TypeError, 'a Uint8Array'],
    [{ partitionKey: [1, 2] }, TypeError, 'got an array'],
  ])('refuses %o', (change, error, message) => {
    const write = () => formatRateLimit([{ ...limit, ...(change as Partial<ServiceLimit>) }])
    expect(write).toThrow(error)
    expect(write).toThrow(message)
  })

  test('names the member that is wrong, and quotes no more of a long value than helps', () => {
    expect(() => formatRateLimit([limit, { policy: 'p', available: -3 }])).toThrow('limits[1].available')
    const long = { policy: `é${'x'.repeat(5000)}`, available: 1 }
    expect(() => formatRateLimit([long])).toThrow(/^.{0,200}$/)
  })

  test('refuses an empty list, which has no form on the wire', () => {
    expect(() => formatRateLimit([])).toThrow(RangeError)
    expect(() => formatRateLimit([])).toThrow('Expected limits to have at least one member')
  })

  test('refuses a draft that it does not know', () => {
    expect(() => formatRateLimit([limit], { draft: 10 as 11 })).toThrow(
      "Expected draft to be 11, 12 or 'dual', got 10",
    )
  })
})

describe('reading RateLimit', () => {
  test.each([null, undefined, '', '  ', '\t', [], [''], ['', ' ']])('%o is absent', (value) => {
    expect(parseRateLimit(value)).toEqual({ status: 'absent' })
  })

  test.each([
    ['draft 11', '"p";r=5;t=3', { policy: 'p', available: 5, effectiveWindowSeconds: 3 }],
    ['draft 12', '"p";a=5;w=3;c=2', { policy: 'p', available: 5, effectiveWindowSeconds: 3, cost: 2 }],
    [
      'the names of draft 11 where both are there',
      '"p";r=5;t=3;a=9;w=8;c=7',
      { policy: 'p', available: 5, effectiveWindowSeconds: 3 },
    ],
    ['r alone where w has the other draft’s window', '"p";r=5;w=3', { policy: 'p', available: 5 }],
    ['escapes in a name', '"a\\"b\\\\c";r=1', { policy: 'a"b\\c', available: 1 }],
    [
      'any parameter of another vendor',
      '"p";x=1;y="a";z;w=tok;v=?0;u=:YQ==:;s=%"e%c3%a9";r=1',
      { policy: 'p', available: 1 },
    ],
  ])('reads %s', (_name, text, expected) => {
    expect(parseRateLimit(text)).toEqual(ok([expected]))
  })

  test('reads minus zero as zero', () => {
    const result = parseRateLimit('"p";r=-0;t=-0')
    expect(result).toStrictEqual(ok([{ policy: 'p', available: 0, effectiveWindowSeconds: 0 }]))
  })

  test.each([
    ['a negative number', '"p";r=-1', 'item 0: expected r to be an Integer from 0, got -1'],
    ['a negative number in draft 12', '"p";a=-1', 'expected a to be an Integer from 0'],
    ['a bad window in draft 12', '"p";a=1;w="x"', 'expected w to be an Integer from 0, got a String'],
    ['a bad cost in draft 12', '"p";a=1;c=1.5', 'expected c to be an Integer from 0, got 1.5'],
    ['neither r nor a', '"p";t=3', 'item 0: r is missing'],
    ['one bad member beside a good one', '"ok";r=5;t=10, "bad";t=4', 'item 1: r is missing'],
    ['a Token for a name', 'p;r=1', 'expected the name to be a String, got a Token'],
    ['an Inner List', '("a" "b");r=1', 'expected the name to be a String, got an Inner List'],
    [
      'a partition key that is a String',
      '"p";r=1;pk="abc"',
      'expected pk to be a Byte Sequence, got a String',
    ],
    ['a newline in a partition key', '"p";r=1;pk=:QX\nBw:', 'not a List: '],
    ['a syntax error', '"p";r=1,', 'not a List: '],
  ])('ignores the whole field for %s', (_name, text, reason) => {
    const result = parseRateLimit(text)
    expect(result).toMatchObject({ status: 'ignored', reason: expect.stringContaining(reason) })
  })

  test('keeps the member that leaves less when one policy is stated twice', () => {
    const kept = (text: string) => {
      const result = parseRateLimit(text)
      return result.status === 'ok' ? [result.items, result.dropped.map((entry) => entry.index)] : result
    }
    const three = { policy: 'p', available: 3, effectiveWindowSeconds: 4 }
    expect(kept('"p";r=5;t=10, "p";r=3;t=4')).toEqual([[three], [0]])
    expect(kept('"p";r=3;t=4, "p";r=5;t=10')).toEqual([[three], [1]])
    expect(kept('"p";r=3;t=2, "p";r=3;t=4, "p";r=3;t=1')).toEqual([[three], [0, 2]])
    expect(kept('"p";r=3, "p";r=3;t=4')).toEqual([[three], [0]])
    expect(kept('"p";r=3;t=4, "p";r=3')).toEqual([[three], [1]])
    expect(kept('"p";r=9, "q";r=1, "p";r=3;t=4')).toEqual([[three, { policy: 'q', available: 1 }], [0]])
  })

  test('takes the same name with other bytes, no bytes or empty bytes for other quotas', () => {
    const result = parseRateLimit('"u";r=5;pk=:YQ==:, "u";r=3;pk=:Yg==:, "u";r=2, "u";r=1;pk=::')
    expect(result.status === 'ok' && result.items.map((item) => item.available)).toEqual([5, 3, 2, 1])
  })

  test('takes padded and unpadded base64 of the same bytes for the same quota', () => {
    const result = parseRateLimit('"u";r=5;pk=:YQ:, "u";r=3;pk=:YQ==:, "u";r=4;pk=:YR==:')
    expect(result).toMatchObject({ items: [{ available: 3, partitionKey: bytes('a') }] })
  })
})

describe('hints on RateLimit', () => {
  const plain = { policy: 'p', available: 5, effectiveWindowSeconds: 1 }

  test('are read beside the draft’s own parameters', () => {
    expect(parseRateLimit('"p";r=5;t=1;ratepact-t-ms=340;ratepact-n=5')).toEqual(
      ok([{ ...plain, effectiveWindowMs: 340, instances: 5 }]),
    )
    expect(parseRateLimit('"p";a=5;w=1;ratepact-t-ms=1000')).toEqual(
      ok([{ ...plain, effectiveWindowMs: 1000 }]),
    )
  })

  test.each([
    'ratepact-t-ms="340"',
    'ratepact-t-ms=340.5',
    'ratepact-t-ms=-1',
    'ratepact-t-ms=1001',
    'ratepact-t-ms',
    'ratepact-t-ms=:YQ==:',
    'ratepact-n=0',
    'ratepact-n=-3',
    'ratepact-n=1.5',
    'ratepact-n="2"',
    'ratepact-n=two',
  ])('%s is skipped and the member stays', (parameter) => {
    expect(parseRateLimit(`"p";r=5;t=1;${parameter}`)).toEqual(ok([plain]))
  })

  test('say nothing about a window that is not there', () => {
    expect(parseRateLimit('"p";r=5;ratepact-t-ms=340')).toEqual(ok([{ policy: 'p', available: 5 }]))
  })
})
