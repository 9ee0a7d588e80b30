import { createLimiter, memoryStore, type Store, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { rateLimit as koaLimit } from '@ratepact/server/koa'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import express from 'express'
import Koa from 'koa'
import { describe, expect, it } from 'vitest'
import { serve } from '../express/helper.js'
import { fronts, type Options, type Trust } from './fronts.js'

const all = tokenBucket({ name: 'all', capacity: 5000, refillPerSecond: 1 })

/** A store that notes for whom it is asked. */
function noting(): { readonly store: Store; readonly owners: string[] } {
  const inner = memoryStore()
  const owners: string[] = []
  const store: Store = {
    name: 'noting',
    run(ops, deadlineMs) {
      for (const op of ops)
        if (op.kind === 'consume')
          owners.push(...op.charges.map(({ owner }) => `${owner.kind}=${owner.value}`))
      return inner.run(ops, deadlineMs)
    },
    close: () => inner.close(),
  }
  return { store, owners }
}
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

function starter(open: (typeof fronts)[number]['open']) {
  return async (options: Options = {}, trust: Trust = 'none') => {
    const { store, owners } = noting()
    const warnings: string[] = []
    const onWarning = (text: string) => warnings.push(text)
    const served = await open([{ policies: [all], store, onWarning, ...options }], undefined, trust)
    return { ...served, owners, warnings }
  }
}

describe.each(fronts)('Who is counted on $name', ({ name, open }) => {
  const start = starter(open)

  it('is whoever connects, whatever the headers say, with one warning of a proxy that nobody told of', async () => {
    const { ask, owners, warnings } = await start()
    await ask('/')
    expect(warnings).toEqual([])
    for (const address of ['1.1.1.1', '2.2.2.2', 'unknown', '::1']) await ask('/', from(address))
    expect(owners).toEqual(Array(5).fill('client=127.0.0.1'))
    // Of a fetch handler it is the platform that says from where a request came.
    const warned =
      name === 'a fetch handler'
        ? []
        : [expect.stringContaining('has x-forwarded-for, and no proxy is trusted')]
    expect(warnings).toEqual(warned)
  })

  it('is each kind that the policies count, and the address for a value that is missing, with one warning', async () => {
    const policies = [all, tokenBucket({ name: 'daily', capacity: 100, refillPerSecond: 1, by: 'account' })]
    const partition = (call: { header(name: string): string | undefined }) => ({
      client: 'c',
      account: call.header('x-account'),
    })
    const { ask, owners, warnings } = await start({ policies, partition })
    await ask('/', { headers: { 'x-account': 'a' } })
    expect(warnings).toEqual([])
    for (const headers of [{}, { 'x-account': '' }]) await ask('/', { headers })
    expect(owners).toEqual(
      ['a', '127.0.0.1', '127.0.0.1'].flatMap((account) => ['client=c', `account=${account}`]),
    )
    expect(warnings).toEqual([expect.stringContaining('partition gave no value for "account"')])
  })

  it('passes uncounted from an address that is allowed, and is blocked from one that is denied', async () => {
    const { ask, owners } = await start({ allow: ['203.0.113.0/24', '127.0.0.0/8', '2001:db8::/32'] })
    const passed = await ask('/')
    expect([passed.status, passed.headers.ratelimit]).toEqual([200, undefined])
    const denying = await start({ allow: ['127.0.0.1'], deny: ['::ffff:127.0.0.1'] })
    const denied = await denying.ask('/')
    expect([denied.status, denied.headers.ratelimit, denied.headers['retry-after']]).toEqual([
      429,
      undefined,
      undefined,
    ])
    expect(JSON.parse(denied.body).type).toMatch(/#abnormal-usage-detected$/)
    const others = await start({ allow: ['128.0.0.0/8', '::/0'], deny: ['127.0.0.2'] })
    expect((await others.ask('/')).headers.ratelimit).toBeDefined()
    expect([...owners, ...denying.owners]).toEqual([])
  })

  it('is not counted for preflights of CORS, unless that was asked for', async () => {
    const preflight = {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    }
    const [by, counting] = [await start(), await start({ preflights: true })]
    await by.ask('/', preflight)
    await by.ask('/', { method: 'OPTIONS' })
    await by.ask('/', { ...preflight, method: 'POST' })
    // No browser sends one without saying for which page.
    await by.ask('/', { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } })
    await counting.ask('/', preflight)
    expect([by.owners.length, counting.owners.length]).toEqual([3, 1])
  })

  it('is blocked for preflights too from an address that is denied, unless they are skipped', async () => {
    const preflight = {
      method: 'OPTIONS',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    }
    const [denying, other, skipping] = [
      await start({ deny: ['127.0.0.1'] }),
      await start({ deny: ['127.0.0.2'] }),
      await start({ deny: ['127.0.0.1'], skip: () => true }),
    ]
    const statuses: number[] = []
    for (const { ask } of [denying, other, skipping]) statuses.push((await ask('/', preflight)).status)
    expect(statuses).toEqual([429, 200, 200])
    expect([...denying.owners, ...other.owners, ...skipping.owners]).toEqual([])
  })

  it('is warned of once where two limiters have a policy of one name', async () => {
    const { store } = noting()
    const warnings: string[] = []
    const limit = () => ({ policies: [all], store, onWarning: (text: string) => warnings.push(text) })
    const { ask } = await open([limit(), limit()])
    for (let i = 0; i < 3; i += 1) await ask('/')
    expect(warnings).toEqual([expect.stringContaining('two limiters on one request have a policy "all"')])
  })
})

describe.each(fronts.filter(({ proxies }) => proxies))(
  'Behind a proxy, who is counted on $name',
  ({ open }) => {
    const start = starter(open)

    it('is whom the trusted proxy names, whatever stands before it', async () => {
      const { ask, owners, warnings } = await start({}, 'nearest')
      for (const left of ['', '1.1.1.1, ', 'garbage, 2.2.2.2, ']) await ask('/', from(`${left}203.0.113.7`))
      for (const given of ['::ffff:203.0.113.7', '::ffff:cb00:7107', '1.1.1.1, 203.0.113.7:5123'])
        await ask('/', from(given))
      await ask('/', from('1.1.1.1, 2001:db8:1:2:3:4:5:6'))
      await ask('/', from('2001:db8:1:2::9%eth0'))
      expect(owners).toEqual([
        ...Array(6).fill('client=203.0.113.7'),
        ...Array(2).fill('client=2001:db8:1:2::/64'),
      ])
      expect(warnings).toEqual([])
    })

    it('is chosen by the client itself where every proxy is trusted, with one warning', async () => {
      const { ask, owners, warnings } = await start({}, 'all')
      for (const address of ['203.0.113.7', '203.0.113.8']) await ask('/', from(address))
      expect(owners).toEqual(['client=203.0.113.7', 'client=203.0.113.8'])
      expect(warnings).toEqual([expect.stringContaining('every proxy is trusted')])
    })

    it('is nobody, and the call fails, where the trusted proxy names no address', async () => {
      for (const missingPartition of [undefined, 'address', 'reject'] as const) {
        const { ask, owners, warnings, errors } = await start(
          missingPartition ? { missingPartition } : {},
          'nearest',
        )
        expect((await ask('/', from('unknown'))).status).toBe(500)
        expect(errors).toMatchObject([{ name: 'PartitionError' }])
        expect(owners).toEqual([])
        expect(warnings).toEqual([expect.stringContaining('has no address')])
      }
      const skipping = await start({ missingPartition: 'skip' }, 'nearest')
      const answer = await skipping.ask('/', from('unknown'))
      expect([answer.status, answer.headers.ratelimit, skipping.owners]).toEqual([200, undefined, []])
    })
  },
)

describe('A mistake in how a limit is set up', () => {
  it.each<[string, (limit: () => unknown) => Parameters<typeof serve>[0]]>([
    ['a handler of Node', (limit) => (_request, response) => void response.end(String(limit()))],
    ['a middleware of Express', (limit) => express().use((_req, res) => void res.send(limit()))],
    [
      'a middleware of Koa',
      (limit) =>
        new Koa()
          .use(async (ctx) => {
            ctx.body = limit()
          })
          .callback(),
    ],
  ])('is told of where it is made inside of %s, and not where it is made before', async (_where, build) => {
    const warnings: string[] = []
    const options = () => ({ policies: [all], onWarning: (text: string) => warnings.push(text) }) as const
    const make = () => {
      for (const made of [expressLimit(options()), koaLimit(options()), nodeLimit(options())])
        expect(made).toBeDefined()
      fetchLimit({ ...options(), partition: () => 'one' })
      return 'made'
    }
    make()
    expect(warnings).toEqual([])
    const { ask } = await serve(build(make))
    expect((await ask('/')).body).toBe('made')
    expect(warnings).toEqual(Array(4).fill(expect.stringContaining('was called while a request is handled')))
  })

  it('is told of when all of many calls come from one near address', async () => {
    const warnings: string[] = []
    let address = '127.0.0.1'
    const start = () => {
      const limit = fetchLimit({
        policies: [all],
        address: () => address,
        onWarning: (text) => void warnings.push(text),
      })
      return limit(() => new Response(null))
    }
    const [all1000, far, varied] = [start(), start(), start()]
    for (let i = 0; i < 1001; i += 1) await all1000(new Request('http://api.test/'))
    expect(warnings).toEqual([expect.stringContaining('the first 1000 calls all came from 127.0.0.1')])
    for (let i = 0; i < 1001; i += 1) {
      address = '203.0.113.7'
      await far(new Request('http://api.test/'))
      address = i === 0 ? '10.0.0.2' : '10.0.0.1'
      await varied(new Request('http://api.test/'))
    }
    expect(warnings).toHaveLength(1)
  })

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
    ].map((entry): [object, string] => [
      { deny: [entry] },
      'Expected deny[…] to be an address or a range such as "203.0.113.0/24", got',
    ]),
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
