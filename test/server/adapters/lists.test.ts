import { createLimiter, tokenBucket } from '@ratepact/server'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import { describe, expect, it } from 'vitest'

const all = tokenBucket({ name: 'all', capacity: 5000, refillPerSecond: 1 })

describe('A list of addresses', () => {
  it.each<[object, string]>([
    [
      { allow: '127.0.0.1' },
      'Expected allow to be an array of at most 1000 addresses and ranges, got "127.0.0.1"',
    ],
    [{ deny: Array(1001).fill('::1') }, 'Expected deny to be an array of at most 1000 addresses and ranges'],
    ...[
      'localhost',
      '127.0.0',
      '127.0.0.1/33',
      '::1/129',
      '127.0.0.1/',
      '127.0.0.1/8/8',
      '::ffff:1.2.3.4/120',
      7,
      '1.2.3.4/08',
      'fe80::1%eth0',
    ].map((entry): [object, string] => [
      { deny: [entry] },
      'Expected deny[…] to be an address or a range such as "203.0.113.0/24", got',
    ]),
    [
      { deny: Array(1) },
      'Expected deny[…] to be an address or a range such as "203.0.113.0/24", got undefined',
    ],
    [{ preflights: 'no' }, 'Expected preflights to be one of true, false, got "no"'],
  ])('is refused: %j', (options, message) => {
    expect(() => nodeLimit({ policies: [all], ...options } as never)).toThrow(message)
  })

  it('is refused of a fetch handler that could not know an address', () => {
    const limiter = createLimiter({ policies: [all] })
    expect(() => fetchLimit({ limiter, partition: () => 'one', deny: ['::1'] })).toThrow(
      'Expected address to be a function where there is allow or deny, got undefined',
    )
    expect(() => fetchLimit({ limiter, address: 7 } as never)).toThrow(
      'Expected address to be a function, got 7',
    )
  })
})
