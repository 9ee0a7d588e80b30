import type { RequestListener } from 'node:http'
import type { Clock } from '@ratepact/contract'
import { memoryStore, type Store, tokenBucket } from '@ratepact/server'
import { rateLimit as expressLimit } from '@ratepact/server/express'
import { rateLimitPlugin } from '@ratepact/server/fastify'
import { rateLimit as fetchLimit } from '@ratepact/server/fetch'
import { rateLimit as koaLimit } from '@ratepact/server/koa'
import { rateLimit as nodeLimit } from '@ratepact/server/node'
import express from 'express'
import Fastify from 'fastify'
import Koa from 'koa'
import { describe, expect, it } from 'vitest'
import { majors, serve } from '../express/helper.js'
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

    it('is looked at too where partition gives it, alone or with more, and where a list is asked', async () => {
      const given = (call: { header(name: string): string | undefined }) => ({
        client: `ip:${call.header('x-forwarded-for') ?? '127.0.0.1'}`,
      })
      const all = expect.stringContaining('every proxy is trusted')
      const none = expect.stringContaining('has x-forwarded-for, and no proxy is trusted')
      for (const [options, trust, warned] of [
        [{ partition: given }, 'all', [all]],
        [{ partition: () => 'ann', allow: ['203.0.113.0/24'] }, 'all', [all]],
        [{ partition: () => 'ann', deny: ['192.0.2.0/24'] }, 'none', [none]],
        [{ partition: () => 'ip:127.0.0.1' }, 'none', [none]],
        [{ partition: given }, 'none', []],
        [{ partition: () => 'ann' }, 'all', []],
      ] as const) {
        const { ask, warnings } = await start(options, trust)
        for (const address of ['203.0.113.7', '203.0.113.8']) await ask('/', from(address))
        expect(warnings).toEqual(warned)
      }
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

describe('Who trusts any proxy', () => {
  const ask = async (port: number) => void (await (await fetch(`http://127.0.0.1:${port}/`)).text())

  it.each([
    [() => true, true],
    ['0.0.0.0/1, 128.0.0.0/1', true],
    [1, false],
    ['loopback, 203.0.113.0/24', false],
    [(_address: string, distance: number) => distance < 3, false],
  ] as const)('is told of it by Express with trust proxy %s: %s', async (setting, told) => {
    for (const [, make] of majors) {
      const warnings: string[] = []
      const app = make().set('trust proxy', setting)
      app.use(expressLimit({ policies: [all], onWarning: (text) => warnings.push(text) }))
      const { port } = await serve(app)
      await ask(port)
      expect(warnings.length).toBe(told ? 1 : 0)
    }
  })

  it.each([
    [() => true, true],
    [(_address: string, distance: number) => distance < 3, false],
    [['127.0.0.1', '10.0.0.0/8'], false],
  ] as const)('is told of it by Fastify with trustProxy %s: %s', async (setting, told) => {
    const warnings: string[] = []
    const app = Fastify({ trustProxy: setting as never })
    await app.register(rateLimitPlugin({ policies: [all], onWarning: (text) => warnings.push(text) }))
    app.get('/', async () => 'done')
    expect((await app.inject('/')).statusCode).toBe(200)
    expect(warnings.length).toBe(told ? 1 : 0)
  })
})

describe('What is made for each request', () => {
  const kinds: readonly (readonly [string, (limit: () => unknown) => RequestListener])[] = [
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
  ]
  /** A clock of its own, whose minute is no other test's. */
  const clockFor = (passed = { ms: 0 }): Clock => ({
    now: () => passed.ms,
    setTimeout: (run, ms) => setTimeout(run, ms),
    clearTimeout: (handle) => clearTimeout(handle as never),
  })
  const told = expect.stringContaining('was called while a request is handled, again and again')

  it.each(kinds)(
    'in %s is told of, once a minute; not what is made before, nor once when it is needed',
    async (_where, build) => {
      const warnings: string[] = []
      const passed = { ms: 0 }
      const clock = clockFor(passed)
      const options = () => ({ policies: [all], clock, onWarning: (text: string) => warnings.push(text) })
      const make = () => {
        for (const made of [expressLimit(options()), koaLimit(options()), nodeLimit(options())])
          expect(made).toBeDefined()
        return 'made'
      }
      make()
      make()
      let lazy: unknown
      const late = await serve(build(() => (lazy ??= make())))
      for (let i = 0; i < 3; i += 1) expect((await late.ask('/')).body).toBe('made')
      expect(warnings).toEqual([])
      passed.ms = 60_000
      const { ask } = await serve(build(make))
      for (let i = 0; i < 4; i += 1) expect((await ask('/')).body).toBe('made')
      expect(warnings).toEqual([told])
      passed.ms = 120_000
      for (let i = 0; i < 4; i += 1) await ask('/')
      expect(warnings).toEqual([told, told])
    },
  )

  it('is told of after an await too, and where the platform tells of no server: by how many there are', async () => {
    const warnings: string[] = []
    const clock = clockFor()
    const request = new Request('http://api.test/')
    const options = {
      policies: [all],
      clock,
      partition: () => 'a',
      onWarning: (text: string) => warnings.push(text),
    }
    const handle = async () => {
      await new Promise(setImmediate)
      return fetchLimit(options)(() => new Response('done'))(request)
    }
    // So many routes that an app has.
    for (let i = 0; i < 600; i += 1) fetchLimit(options)
    expect(warnings).toEqual([])
    for (let i = 0; i < 600; i += 1) expect((await handle()).status).toBe(200)
    expect(warnings).toEqual([told])
  })
})

describe('Calls that all come from one address', () => {
  it('are told of once where it is a near one', async () => {
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
    const [near, far, varied] = [start(), start(), start()]
    for (let i = 0; i < 1001; i += 1) await near(new Request('http://api.test/'))
    expect(warnings).toEqual([expect.stringContaining('the first 1000 calls all came from 127.0.0.1')])
    for (let i = 0; i < 1001; i += 1) {
      address = '203.0.113.7'
      await far(new Request('http://api.test/'))
      address = i === 0 ? '10.0.0.2' : '10.0.0.1'
      await varied(new Request('http://api.test/'))
    }
    expect(warnings).toHaveLength(1)
  })
})
