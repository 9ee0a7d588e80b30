import { createHmac } from 'node:crypto'
import { parseRateLimit, parseRateLimitPolicy } from '@ratepact/contract'
import { leakyBucket, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'
import { describe, expect, it } from 'vitest'
import { handStore } from '../express/helper.js'
import { type Call, fronts } from './fronts.js'

const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })
const CHROME = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

const JSON_TYPE = 'application/problem+json'
const accepts: readonly (readonly [accept: string | undefined, type: string])[] = [
  [undefined, JSON_TYPE],
  ['*/*', JSON_TYPE],
  ['', JSON_TYPE],
  ['application/json, text/plain, */*', JSON_TYPE],
  ['text/html;q=0.5, application/problem+json;q=0.6', JSON_TYPE],
  ['text/html, application/json', JSON_TYPE],
  ['image/png', JSON_TYPE],
  ['text/html;q=0', JSON_TYPE],
  ['text/html;q=2', JSON_TYPE],
  ['text/html;q=x', JSON_TYPE],
  [`text/html${', a/b'.repeat(500)}`, JSON_TYPE],
  [CHROME, 'text/html'],
  ['TEXT/HTML', 'text/html'],
  ['text/plain', 'text/plain'],
  ['text/*', 'text/plain'],
  ['text/*;q=0.3, text/html', 'text/html'],
  ['application/json;q=0.1, text/plain;q=0.2', 'text/plain'],
]

describe.each(fronts)('A refusal on $name', ({ name, open }) => {
  // Nest hands problem details to its filters, which know no other form.
  it.each(name.startsWith('Nest') ? accepts.slice(0, 4) : accepts)(
    'asked for as %j is %s',
    async (accept, type) => {
      const { ask } = await open([{ policies: [one], store: handStore().store }])
      await ask('/')
      const answer = await ask('/', { headers: accept === undefined ? {} : { accept } })
      expect([answer.status, answer.headers['content-type']?.split(';')[0]]).toEqual([429, type])
      expect([answer.headers['retry-after'], answer.headers['cache-control']]).toEqual(['10', 'no-store'])
      if (type === 'text/plain') expect(answer.body).toBe('429 Quota Exceeded\nRetry in 10 seconds.\n')
      if (type === 'text/html')
        expect(answer.body).toBe(
          '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Quota Exceeded</title>' +
            '<h1>Quota Exceeded</h1><p>Retry in 10 seconds.</p></html>',
        )
      if (type === JSON_TYPE) expect(JSON.parse(answer.body)['violated-policies']).toEqual(['one'])
    },
  )

  it('tells whose units it was by a hash with a secret, and nothing else of the identity', async () => {
    const secret = 'a secret of the service'
    const policies = [
      tokenBucket({ name: 'burst', capacity: 9, refillPerSecond: 1 }),
      tokenBucket({ name: 'daily', capacity: 9, refillPerSecond: 1, by: 'account' }),
      tokenBucket({ name: 'route', capacity: 9, refillPerSecond: 1, perScope: true }),
    ]
    const partition = (call: Call) => ({ client: call.header('x-client'), account: 'ann' })
    const { ask } = await open([{ policies, partition, scope: 'orders', headers: { partitionKey: secret } }])
    const keys = async (client: string) => {
      const { headers } = await ask('/', { headers: { 'x-client': client } })
      const [states, rules] = [
        parseRateLimit(headers.ratelimit),
        parseRateLimitPolicy(headers['ratelimit-policy']),
      ]
      if (states.status !== 'ok' || rules.status !== 'ok') throw new Error('Expected both to be read')
      const found = states.items.map(({ partitionKey = [] }) => Buffer.from(partitionKey).toString('hex'))
      expect(rules.items.map(({ partitionKey = [] }) => Buffer.from(partitionKey).toString('hex'))).toEqual(
        found,
      )
      return found
    }
    const hash = (...parts: string[]) =>
      createHmac('sha256', secret).update(parts.join('\x1f')).digest('hex').slice(0, 16)
    for (const client of ['one', 'two'])
      expect(await keys(client)).toEqual([
        hash('client', client),
        hash('account', 'ann'),
        hash('client', client, 'orders'),
      ])
  })
})

describe('A hash of whose units it was', () => {
  const partitionKey = 'a secret of the service'

  it('is stated of what is refused because it would be held for too long, too', async () => {
    const policies = [leakyBucket({ name: 'queue', capacity: 10, leakPerSecond: 0.05 })] as const
    const handle = rateLimit({ policies, partition: () => 'one', headers: { partitionKey } })(
      () => new Response(),
    )
    const key = async () => {
      const { headers } = await handle(new Request('http://api.test/'))
      return /;pk=:[^:]+:/.exec(headers.get('ratelimit') ?? '')?.[0]
    }
    const first = await key()
    expect(first).toBeDefined()
    expect(await key()).toBe(first)
  })

  it.each([['short'], [42], [null]])('is refused of the secret %j, which no error shows', (secret) => {
    const make = () =>
      rateLimit({ policies: [one], partition: () => 'one', headers: { partitionKey: secret as never } })
    expect(make).toThrow(
      new TypeError('Expected headers.partitionKey to be a secret of at least 16 characters'),
    )
  })
})
