import { createLimiter, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'
import { describe, expect, it } from 'vitest'

const policies = [tokenBucket({ name: 'all', capacity: 1, refillPerSecond: 1 })] as const

describe('A limit of a fetch handler', () => {
  it.each<[string, object]>([
    ['left out', { policies }],
    ['undefined', { policies, partition: undefined }],
    ['undefined beside a limiter', { limiter: createLimiter({ policies }), partition: undefined }],
    [
      'undefined and missing values are to be skipped',
      { policies, partition: undefined, missingPartition: 'skip' },
    ],
  ])('is refused when it is made with partition %s', (_how, options) => {
    expect(() => rateLimit(options as never)).toThrow(
      new TypeError(
        'Expected partition to be a function: a Request does not say from whom it came, got undefined',
      ),
    )
  })

  it('is refused with a partition that is no function', () => {
    expect(() => rateLimit({ policies, partition: null } as never)).toThrow(
      new TypeError('Expected partition to be a function, got null'),
    )
  })
})
