import {
  createLimiter,
  fixedWindow,
  type LimiterOptions,
  type Metrics,
  memoryStore,
  StoreError,
  tokenBucket,
} from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { prometheusMetrics } from '@ratepact/server/prometheus'
import { testClock } from '@ratepact/testing'
import express from 'express'
import { register as defaultRegister, type OpenMetricsContentType, Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { serve } from '../express/helper.js'
import { farStore, refused } from '../failure/store.js'
import { exposed } from './scrape.js'

const one = fixedWindow({ name: 'one', quota: 1, windowSeconds: 86_400, anchor: 'first-request' })
const four = tokenBucket({ name: 'four', capacity: 4, refillPerSecond: 0.001 })

async function open(options: Partial<LimiterOptions> & object = {}, figures: object = {}) {
  const register = new Registry()
  const metrics = prometheusMetrics({ register, ...figures })
  const clock = testClock()
  const store = farStore(clock)
  const limiter = createLimiter({ policies: [one], clock, store, metrics, ...options } as LimiterOptions)
  return { register, metrics, clock, store, limiter, scrape: await exposed(register) }
}

describe('a program with prometheusMetrics', () => {
  it('says of each route what passed, what did not, and by which policy', async () => {
    const register = new Registry()
    const metrics = prometheusMetrics({ register })
    const app = express()
    const partition = (req: express.Request) => req.get('x-api-key')
    app.use('/v1', rateLimit({ policies: [one, four], metrics, partition, name: 'v1' }))
    app.get('/v1/orders/:id', (_req, res) => void res.send('order'))
    app.post(
      '/login',
      rateLimit({ policies: [four], cost: 3, metrics, partition }),
      (_req, res) => void res.end(),
    )
    const { ask } = await serve(app)
    for (const key of ['a', 'a', 'b', 'a'])
      await ask(`/v1/orders/${key}?x=${key}`, { headers: { 'x-api-key': key } })
    for (let call = 0; call < 2; call += 1)
      await ask('/login', { method: 'POST', headers: { 'x-api-key': 'a' } })
    await ask('/login', { method: 'POST', headers: { 'x-api-key': 'b' } })

    const scrape = await (await exposed(register))()
    expect(scrape.all('rate_limit_requests_allowed_total')).toEqual([
      [{ limiter: 'v1', endpoint: 'GET /v1', outcome: 'admitted' }, 2],
      [{ endpoint: 'POST /login', outcome: 'admitted' }, 2],
    ])
    expect(scrape.all('rate_limit_requests_denied_total')).toEqual([
      [{ limiter: 'v1', endpoint: 'GET /v1', policy: 'one', outcome: 'refused' }, 2],
      [{ endpoint: 'POST /login', policy: 'four', outcome: 'refused' }, 1],
    ])
    const v1 = { limiter: 'v1', policy: 'four' }
    expect(scrape.value('rate_limit_remaining_ratio_count', v1)).toBe(4)
    expect(scrape.value('rate_limit_remaining_ratio_bucket', { ...v1, le: '0.75' })).toBe(4)
    expect(scrape.value('rate_limit_remaining_ratio_bucket', { ...v1, le: '0.5' })).toBe(0)
    expect(scrape.value('rate_limit_check_duration_seconds_count', { limiter: 'v1', source: 'store' })).toBe(
      4,
    )
    expect(scrape.value('rate_limit_check_duration_seconds_bucket', { limiter: 'v1', le: '+Inf' })).toBe(4)
    expect(scrape.all('rate_limit_top_refusals')).toEqual([])
  })

  it('counts a call once, by the policy with the longest wait, and looks not at all', async () => {
    const hourly = fixedWindow({ name: 'hourly', quota: 1, windowSeconds: 3600, anchor: 'first-request' })
    const { limiter, scrape } = await open({ policies: [hourly, one], denyCache: false })
    for (let call = 0; call < 3; call += 1) await limiter.consume('a')
    await limiter.peek('a')
    await limiter.consume('a', { cost: { hourly: 2, one: 1 } })
    const { all } = await scrape()
    expect(all('rate_limit_requests_allowed_total')).toEqual([[{ outcome: 'admitted' }, 1]])
    expect(all('rate_limit_requests_denied_total')).toEqual([
      [{ policy: 'one', outcome: 'refused' }, 2],
      [{ policy: 'hourly', outcome: 'impossible' }, 1],
    ])
  })

  it('tells plans, blocks, and what this process decides by itself', async () => {
    const plans = { free: [one], paid: [four] }
    const { limiter, scrape } = await open({ policies: undefined, plans, blocks: true } as object)
    const call = (who: string, plan: 'free' | 'paid') => limiter.consume(who, { plan } as never)
    for (let calls = 0; calls < 3; calls += 1) await call('a', 'free')
    await call('a', 'paid')
    await limiter.block('b', 60)
    await call('b', 'paid')
    const { all, value } = await scrape()
    expect(all('rate_limit_requests_allowed_total')).toEqual([
      [{ plan: 'free', outcome: 'admitted' }, 1],
      [{ plan: 'paid', outcome: 'admitted' }, 1],
    ])
    expect(all('rate_limit_requests_denied_total')).toEqual([
      [{ plan: 'free', policy: 'one', outcome: 'refused' }, 2],
      [{ plan: 'paid', outcome: 'blocked' }, 1],
    ])
    expect(all('rate_limit_local_decisions_total')).toEqual([
      [{ source: 'deny-cache', outcome: 'refused' }, 1],
    ])
    expect(value('rate_limit_remaining_ratio_count', { plan: 'free' })).toBe(3)
  })

  it('tells an outage: every failure by its reason, what became of calls, the breaker, and the end', async () => {
    const { clock, store, limiter, scrape } = await open({ name: 'api' })
    const about = { limiter: 'api' }
    expect((await scrape()).value('rate_limit_breaker_open', about)).toBe(0)
    store.fare('silent')
    await clock.runUntil(limiter.consume('a'))
    store.fare(refused())
    for (let call = 0; call < 30; call += 1)
      await limiter.consume('a', { onStoreFailure: call % 2 ? 'closed' : { local: { instances: 1 } } })
    store.fare(new StoreError('configuration', 'Redis refuses', { code: 'NOPERM' }))
    await clock.advance(60_000)
    await limiter.consume('a')
    store.fare(refused())
    for (let call = 0; call < 3; call += 1) await limiter.consume('b')

    const down = await scrape()
    expect(down.value('rate_limit_breaker_open', about)).toBe(1)
    const failures = down.all('rate_limit_store_failures_total')
    expect(failures.reduce((sum, [, count]) => sum + count, 0)).toBe(35)
    expect(failures).toContainEqual([{ ...about, reason: 'timeout', mode: 'open' }, 1])
    expect(failures).toContainEqual([{ ...about, reason: 'disconnected', mode: 'closed' }, 15])
    expect(failures).toContainEqual([{ ...about, reason: 'disconnected', mode: 'local' }, 15])
    expect(failures).toContainEqual([{ ...about, reason: 'configuration', mode: 'open' }, 1])
    expect(down.value('rate_limit_requests_allowed_total', { outcome: 'unchecked' })).toBe(5)
    expect(down.value('rate_limit_requests_denied_total', { outcome: 'unavailable' })).toBe(15)
    expect(down.all('rate_limit_local_decisions_total')).toEqual([
      [{ ...about, source: 'local', outcome: 'admitted' }, 1],
      [{ ...about, source: 'local', outcome: 'refused' }, 14],
    ])
    expect(down.value('rate_limit_check_duration_seconds_bucket', { source: 'none', le: '0.025' })).toBe(19)
    expect(down.value('rate_limit_check_duration_seconds_bucket', { source: 'none', le: '0.1' })).toBe(20)
    // What a share leaves is no part of the quota.
    expect(down.all('rate_limit_remaining_ratio_count')).toEqual([])

    store.fare('up')
    await clock.advance(60_000)
    await limiter.consume('b')
    expect((await scrape()).value('rate_limit_breaker_open', about)).toBe(0)
  })

  it('counts the open breakers of limiters of one name, without those that are closed', async () => {
    const { metrics, clock, store, limiter, scrape } = await open()
    const broken = farStore(clock)
    const other = createLimiter({ policies: [one], clock, store: broken, metrics })
    store.fare(refused())
    broken.fare(refused())
    for (let call = 0; call < 5; call += 1) await Promise.all([limiter.consume('a'), other.consume('a')])
    for (const left of [2, 1, 0]) {
      expect((await scrape()).value('rate_limit_breaker_open')).toBe(left)
      await (left === 2 ? limiter : other).close()
    }
  })

  it('counts every call that a shadow or a candidate would have refused', async () => {
    const { limiter, scrape } = await open({
      policies: [
        fixedWindow({ name: 'six', quota: 6, windowSeconds: 86_400 }),
        tokenBucket({ name: 'four', capacity: 4, refillPerSecond: 0.001, shadow: true }),
      ],
      candidate: [one],
    })
    for (let call = 0; call < 8; call += 1) await limiter.consume('a')
    const { all, value } = await scrape()
    expect(all('rate_limit_shadow_refusals_total')).toEqual([
      [{ group: 'candidate', policy: 'one', passed: 'true' }, 5],
      [{ group: 'shadow', policy: 'four', passed: 'true' }, 2],
      [{ group: 'shadow', policy: 'four', passed: 'false' }, 2],
      [{ group: 'candidate', policy: 'one', passed: 'false' }, 2],
    ])
    expect(value('rate_limit_requests_denied_total')).toBe(2)
  })

  it('counts every bucket that is forgotten', async () => {
    const { limiter, scrape } = await open({ store: memoryStore({ maxBuckets: 10 }) })
    for (let who = 0; who < 100; who += 1) await limiter.consume(`who ${who}`)
    expect((await scrape()).all('rate_limit_buckets_lost_total')).toEqual([
      [{ policy: 'one', reason: 'evicted' }, 90],
    ])
  })

  it('shows who is refused most for as long as they are, where it is asked to', async () => {
    const { clock, limiter, scrape } = await open({ name: 'api' }, { top: 2 })
    const dear = { cost: 2 }
    for (const who of ['c', 'a', 'b\u202e"\n\\', 'a', 'b\u202e"\n\\', 'a']) await limiter.consume(who, dear)
    expect((await scrape()).all('rate_limit_top_refusals')).toEqual([
      [{ limiter: 'api', kind: 'client', partition: 'a', policy: 'one' }, 3],
      [{ limiter: 'api', kind: 'client', partition: 'b\\u{202e}"\\u{a}\\\\', policy: 'one' }, 2],
    ])
    await clock.advance(350_000)
    await limiter.consume('d', dear)
    await clock.advance(20_000)
    expect((await scrape()).all('rate_limit_top_refusals').map(([{ partition }]) => partition)).toEqual(['d'])
    await limiter.close()
    expect((await scrape()).all('rate_limit_top_refusals')).toEqual([])
  })

  it('shows a hundred limiters of those that are made without end', async () => {
    const { metrics, scrape } = await open({}, { top: 1 })
    for (let nth = 0; nth < 150; nth += 1)
      await createLimiter({ policies: [one], metrics, name: `nth-${nth}` }).consume('a', { cost: 2 })
    const { all } = await scrape()
    for (const name of ['rate_limit_requests_denied_total', 'rate_limit_breaker_open'])
      expect(all(name).length).toBeLessThanOrEqual(101)
    expect(all('rate_limit_requests_denied_total').at(-1)).toEqual([
      { limiter: 'other', policy: 'one', outcome: 'impossible' },
      51,
    ])
    const shown = all('rate_limit_top_refusals').map(([{ limiter }]) => limiter)
    expect(shown).toEqual(Array.from({ length: 99 }, (_, nth) => `nth-${nth}`))
  })

  it('can be read as OpenMetrics', async () => {
    const register = new Registry<OpenMetricsContentType>()
    register.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
    const limiter = createLimiter({ policies: [one], metrics: prometheusMetrics({ register }) })
    await limiter.consume('a', { scope: 'GET /' })
    const { text, value } = await (await exposed(register))()
    expect(text).toMatch(/\n# EOF\n$/)
    expect(text).toContain('# TYPE rate_limit_requests_allowed counter\n')
    expect(value('rate_limit_requests_allowed_total')).toBe(1)
  })

  it('leaves a registry as it was that has one of the names already', async () => {
    const register = new Registry()
    prometheusMetrics({ register })
    const names = register.getMetricsAsArray().map((metric) => metric.name)
    const last = names.at(-1) as string
    for (const other of names) if (other !== last) register.removeSingleMetric(other)
    expect(() => prometheusMetrics({ register })).toThrow(`The registry has a metric ${last} already`)
    expect(register.getMetricsAsArray().map((metric) => metric.name)).toEqual([last])
    register.removeSingleMetric(last)
    prometheusMetrics({ register })
  })

  it('has the names that it is told to, in the default registry if none is named', async () => {
    onTestFinished(() => defaultRegister.clear())
    prometheusMetrics({ prefix: 'shop_' })
    const names = defaultRegister.getMetricsAsArray().map(({ name }) => name)
    expect(names).toContain('shop_rate_limit_requests_denied_total')
    expect(names.every((name) => name.startsWith('shop_rate_limit_'))).toBe(true)
    expect(() => prometheusMetrics({ prefix: 'shop_' })).toThrow(
      new TypeError(
        'The registry has a metric shop_rate_limit_requests_allowed_total already: make prometheusMetrics once and give it to every limiter, or give it a prefix',
      ),
    )
  })

  it('sees to it that what watches a limiter cannot harm it', async () => {
    const fails = () => {
      throw new Error('boom')
    }
    const broken: Metrics = {
      watch: () => ({ decided: fails, failed: fails, turned: fails, told: fails, closed: fails }),
    }
    const register = new Registry()
    const both = [broken, prometheusMetrics({ register })]
    const { store, limiter } = await open({ metrics: both })
    await limiter.consume('a')
    await limiter.consume('a')
    store.fare(refused())
    for (let call = 0; call < 5; call += 1) expect((await limiter.consume('b')).outcome).toBe('unchecked')
    await limiter.close()
    const { value } = await (await exposed(register))()
    expect(value('rate_limit_requests_denied_total')).toBe(1)
    expect(value('rate_limit_requests_allowed_total', { outcome: 'unchecked' })).toBe(5)
  })

  it.each<readonly [given: unknown, message: string]>([
    [undefined, 'Expected the options of prometheusMetrics to be an object, got null'],
    [
      { registry: 1 },
      'Unknown option "registry" of prometheusMetrics; it takes register, prefix, maxEndpoints, top',
    ],
    [{ register: {} }, 'Expected register to be a Registry of prom-client, got an object'],
    [
      { register: { getSingleMetric() {} } },
      'Expected register to be a Registry of prom-client, got an object',
    ],
    [
      { prefix: 'a-' },
      'Expected prefix to be a beginning of a name, matching ^([a-zA-Z_:][a-zA-Z0-9_:]*)?$, got "a-"',
    ],
    [{ maxEndpoints: 0 }, 'Expected maxEndpoints to be a whole number from 1 to 10000, got 0'],
    [{ top: 101 }, 'Expected top to be a whole number from 0 to 100, got 101'],
  ])('refuses options that are none: %o', (given, message) => {
    expect(() => prometheusMetrics((given ?? null) as object)).toThrow(message)
  })

  it.each<readonly [given: object, message: string]>([
    [{ name: 'a b' }, 'Expected name to be a name matching ^[a-zA-Z][a-zA-Z0-9_.-]{0,63}$, got "a b"'],
    [
      { metrics: {} },
      'Expected metrics to be made by prometheusMetrics() or the like, with watch, got an object',
    ],
    [
      { metrics: [null] },
      'Expected metrics to be made by prometheusMetrics() or the like, with watch, got null',
    ],
  ])('refuses limiters that cannot be watched: %o', (given, message) => {
    expect(() => createLimiter({ policies: [one], ...given })).toThrow(new TypeError(message))
  })
})
