import { parseRateLimit, partitionKeyParameter, policyPrefix } from '@ratepact/contract'
import { expect, test } from 'vitest'

test('a prefix is the name as it stands on the wire', () => {
  expect(policyPrefix('burst')).toBe('"burst"')
  expect(policyPrefix('a "b" \\c')).toBe('"a \\"b\\" \\\\c"')
  expect(parseRateLimit(`${policyPrefix('a"b')};r=1`)).toMatchObject({
    items: [{ policy: 'a"b', available: 1 }],
  })
})

test('a partition key becomes one parameter', () => {
  expect(partitionKeyParameter(new TextEncoder().encode('App-999'))).toBe(';pk=:QXBwLTk5OQ==:')
  expect(partitionKeyParameter(Buffer.from('a'))).toBe(';pk=:YQ==:')
  expect(partitionKeyParameter(new Uint8Array())).toBe(';pk=::')
})

test('what cannot be written is refused', () => {
  expect(() => policyPrefix('é')).toThrow(
    'Expected policy to be a string of printable ASCII characters, got "é"',
  )
  expect(() => policyPrefix('a\r\nb')).toThrow(RangeError)
  expect(() => policyPrefix(undefined as unknown as string)).toThrow(TypeError)
  expect(() => partitionKeyParameter('abc' as unknown as Uint8Array)).toThrow(
    'Expected partitionKey to be a Uint8Array, got "abc"',
  )
})
