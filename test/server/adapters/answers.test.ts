import { tokenBucket } from '@ratepact/server'
import { describe, expect, it } from 'vitest'
import { handStore } from '../express/helper.js'
import { fronts, type Reply } from './fronts.js'

const burst = tokenBucket({ name: 'burst', capacity: 2, refillPerSecond: 0.1 })
const POLICY = '"burst";q=2;w=20;ratepact-refill="bucket"'
/** Some frameworks say the charset of all that is text. */
const PROBLEM = /^application\/problem\+json(; charset=utf-8)?$/
const OURS = [
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'retry-after-ms',
  'cache-control',
  'content-type',
  'access-control-expose-headers',
] as const

function ours({ headers }: { readonly headers: Readonly<Record<string, string | undefined>> }) {
  return Object.fromEntries(
    OURS.filter((name) => headers[name] !== undefined).map((name) => [name, headers[name]]),
  )
}

describe.each(fronts)('On $name', ({ name, open }) => {
  const limit = (options: object = {}) => ({ policies: [burst], store: handStore().store, ...options })

  it('an answer states what is left, and a refusal when to come back', async () => {
    const { ask, errors } = await open([limit()])
    const first = await ask('/')
    expect([first.status, first.body]).toEqual([200, 'handled'])
    expect(first.headers.ratelimit).toBe('"burst";r=1;t=10;ratepact-t-ms=10000')
    expect(first.headers['ratelimit-policy']).toBe(POLICY)
    expect((await ask('/')).headers.ratelimit).toBe('"burst";r=0;t=10;ratepact-t-ms=10000')
    const refused = await ask('/')
    expect(refused.status).toBe(429)
    expect(ours(refused)).toEqual({
      ratelimit: '"burst";r=0;t=10;ratepact-t-ms=10000',
      'ratelimit-policy': POLICY,
      'retry-after': '10',
      'retry-after-ms': '10000',
      'cache-control': 'no-store',
      'content-type': expect.stringMatching(PROBLEM),
    })
    expect(JSON.parse(refused.body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: 'Retry in 10 seconds.',
      'violated-policies': ['burst'],
    })
    expect(errors).toEqual([])
  })

  const statuses: readonly (readonly [what: string, reply: Reply, states: boolean])[] = [
    ['201', { status: 201, body: 'made' }, true],
    ['204', { status: 204 }, true],
    ['302', { status: 302, headers: { location: '/elsewhere' } }, false],
    ['304', { status: 304 }, false],
    ['400', { status: 400, body: 'no' }, true],
    ['503', { status: 503, body: 'later' }, true],
    ['200 in pieces', { body: ['a', 'b', 'c'] }, true],
  ]
  it.each(statuses)('%s states limits or keeps silent by its status', async (_what, reply, states) => {
    const { ask } = await open([limit()], () => reply)
    const answer = await ask('/')
    expect([answer.status, answer.body]).toEqual([reply.status ?? 200, [reply.body ?? ''].flat().join('')])
    expect(answer.headers['ratelimit-policy']).toBe(states ? POLICY : undefined)
    expect(answer.headers.ratelimit !== undefined).toBe(states)
    expect(answer.headers['retry-after']).toBeUndefined()
  })

  it('what a handler throws is answered as ever, and states limits', async () => {
    const { ask, errors } = await open([limit()], () => {
      throw new Error('as meant')
    })
    const answer = await ask('/')
    expect(answer.status).toBe(500)
    // A fetch handler that throws gives no answer that anything could be stated on.
    expect(answer.headers['ratelimit-policy']).toBe(name === 'a fetch handler' ? undefined : POLICY)
    expect(errors).toMatchObject([{ message: 'as meant' }])
  })
})
