import { context, metrics as globalMetrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { DataPointType, type Histogram, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { createLimiter, fixedWindow, memoryStore } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import { openTelemetryMetrics } from '@ratepact/server/opentelemetry'
import { prometheusMetrics } from '@ratepact/server/prometheus'
import { testClock } from '@ratepact/testing'
import express from 'express'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { serve } from '../express/helper.js'
import { farStore, refused } from '../failure/store.js'
import { scrapedFrom } from './scrape.js'

const one = fixedWindow({ name: 'one', quota: 1, windowSeconds: 86_400, anchor: 'first-request' })

/** Hands over what there is when it is asked. */
class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

let reader: Reader
let meterProvider: MeterProvider
beforeEach(() => {
  reader = new Reader()
  meterProvider = new MeterProvider({ readers: [reader] })
})
afterEach(() => meterProvider.shutdown())

/** Every instrument by its name. */
async function collected() {
  const { resourceMetrics } = await reader.collect()
  const all = resourceMetrics.scopeMetrics.flatMap(({ scope, metrics }) =>
    metrics.map((metric) => [metric.descriptor.name, { ...metric, by: scope.name }] as const),
  )
  const byName = new Map(all)
  return {
    byName,
    points: (name: string) =>
      byName.get(name)?.dataPoints.map(({ attributes, value }) => [attributes, value] as const) ?? [],
  }
}

/** What a page for Prometheus says, in an order of its own. */
function sorted(page: string, before = /^/): readonly string[] {
  const { names, all } = scrapedFrom(page)
  return names
    .flatMap((name) => all(name).map(([labels, value]) => [name, labels, value] as const))
    .map(([name, labels, value]) => {
      const own = Object.entries(labels).map(([label, text]) => `${label.replace(before, '')}=${text}`)
      return `${name} ${own.sort().join(' ')} ${value}`
    })
    .sort()
}

describe('a program with openTelemetryMetrics', () => {
  it('has instruments of the names, units and buckets that dashboards ask for', async () => {
    const limiter = createLimiter({ policies: [one], metrics: openTelemetryMetrics({ meterProvider }) })
    for (let call = 0; call < 2; call += 1) await limiter.consume('a', { scope: 'GET /' })
    const { byName } = await collected()
    const about = [...byName].map(([name, { descriptor, by }]) => [name, descriptor.unit, by])
    expect(about).toEqual([
      ['rate_limit.requests.allowed', '', '@ratepact/server'],
      ['rate_limit.requests.denied', '', '@ratepact/server'],
      ['rate_limit.check.duration', 's', '@ratepact/server'],
      ['rate_limit.remaining.ratio', '1', '@ratepact/server'],
      ['rate_limit.breaker.open', '', '@ratepact/server'],
    ])
    const durations = byName.get('rate_limit.check.duration')
    expect(durations?.dataPointType).toBe(DataPointType.HISTOGRAM)
    const measured = durations?.dataPoints[0]?.value as Histogram | undefined
    expect(measured?.buckets.boundaries).toEqual(expect.arrayContaining([0.001, 0.005, 0.01, 0.05, 0.1]))
    expect(measured?.count).toBe(2)
  })

  it('counts by route, policy and outcome, and an outage by its reason', async () => {
    const clock = testClock()
    const store = farStore(clock)
    const metrics = openTelemetryMetrics({ meterProvider })
    const shadow = fixedWindow({ name: 'tried', quota: 1, windowSeconds: 60, shadow: true })
    const two = fixedWindow({ name: 'two', quota: 2, windowSeconds: 86_400, anchor: 'first-request' })
    const limiter = createLimiter({ policies: [two, shadow], clock, store, metrics, name: 'api' })
    for (let call = 0; call < 4; call += 1) await limiter.consume('a', { scope: 'GET /orders/:id' })
    store.fare(refused())
    for (let call = 0; call < 3; call += 1) await limiter.consume('b', { scope: 'GET /orders/:id' })
    const { points } = await collected()
    const route = { 'rate_limit.limiter': 'api', 'rate_limit.endpoint': 'GET /orders/:id' }
    expect(points('rate_limit.requests.allowed')).toEqual([
      [{ ...route, 'rate_limit.outcome': 'admitted' }, 2],
      [{ ...route, 'rate_limit.outcome': 'unchecked' }, 3],
    ])
    expect(points('rate_limit.requests.denied')).toEqual([
      [{ ...route, 'rate_limit.policy': 'two', 'rate_limit.outcome': 'refused' }, 2],
    ])
    const api = { 'rate_limit.limiter': 'api' }
    expect(points('rate_limit.local.decisions')).toEqual([
      [{ ...api, 'rate_limit.source': 'deny-cache', 'rate_limit.outcome': 'refused' }, 1],
    ])
    expect(points('rate_limit.store.failures')).toEqual([
      [{ ...api, 'rate_limit.reason': 'disconnected', 'rate_limit.mode': 'open' }, 3],
    ])
    expect(points('rate_limit.shadow.refusals').map(([, value]) => value)).toEqual([1, 1])
    expect(points('rate_limit.breaker.open')).toEqual([[api, 1]])
  })

  it('is, behind an exporter for Prometheus, what prometheusMetrics is, its labels after rate_limit_', async () => {
    const clock = testClock()
    const store = farStore(clock)
    const register = new Registry()
    const metrics = [openTelemetryMetrics({ meterProvider }), prometheusMetrics({ register })]
    const plans = { free: [one, fixedWindow({ name: 'tried', quota: 1, windowSeconds: 60, shadow: true })] }
    const limiter = createLimiter({ plans, clock, store, metrics, name: 'api' })
    for (let call = 0; call < 3; call += 1) await limiter.consume('a', { plan: 'free', scope: 'GET /' })
    store.fare(refused())
    for (let call = 0; call < 3; call += 1) await limiter.consume('b', { plan: 'free', scope: 'GET /' })
    await createLimiter({ policies: [one], clock, store: memoryStore({ maxBuckets: 1 }), metrics }).consume(
      'a',
    )

    const { resourceMetrics } = await reader.collect()
    const exported = new PrometheusSerializer(undefined, false, undefined, true, true).serialize(
      resourceMetrics,
    )
    // This exporter leaves the unit out; the Collector and Prometheus's own intake put it there.
    const withUnit = exported.replaceAll('_duration_', '_duration_seconds_')
    expect(sorted(withUnit, /^rate_limit_/)).toEqual(sorted(await register.metrics()))
  })

  it('tells no more endpoints apart than it may', async () => {
    const limiter = createLimiter({
      policies: [one],
      metrics: openTelemetryMetrics({ meterProvider, maxEndpoints: 3 }),
    })
    for (let call = 0; call < 50; call += 1) await limiter.consume(`who ${call}`, { scope: `GET /${call}` })
    const { points } = await collected()
    const endpoints = points('rate_limit.requests.allowed').map(([labels]) => labels['rate_limit.endpoint'])
    expect(endpoints).toEqual(['GET /0', 'GET /1', 'GET /2', 'other'])
  })

  it('takes the provider that is set for the process', async () => {
    globalMetrics.setGlobalMeterProvider(meterProvider)
    try {
      const limiter = createLimiter({ policies: [one], metrics: openTelemetryMetrics() })
      await limiter.consume('a')
    } finally {
      globalMetrics.disable()
    }
    expect((await collected()).points('rate_limit.requests.allowed')).toEqual([
      [{ 'rate_limit.outcome': 'admitted' }, 1],
    ])
  })

  it.each<readonly [given: unknown, message: string]>([
    [null, 'Expected the options of openTelemetryMetrics to be an object, got null'],
    [{ top: 1 }, 'Unknown option "top" of openTelemetryMetrics; it takes meterProvider, maxEndpoints, spans'],
    [{ meterProvider: {} }, 'Expected meterProvider to be a MeterProvider, with getMeter, got an object'],
    [{ maxEndpoints: '9' }, 'Expected maxEndpoints to be a whole number from 1 to 10000, got "9"'],
    [{ spans: 1 }, 'Expected spans to be one of true, false, got 1'],
  ])('refuses options that are none: %o', (given, message) => {
    expect(() => openTelemetryMetrics(given as object)).toThrow(message)
  })
})

describe('the span of a request', () => {
  const spans = new InMemorySpanExporter()
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }).getTracer(
    'test',
  )
  beforeEach(() => {
    spans.reset()
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterEach(() => context.disable())

  /** A program that traces its requests as instrumentations of HTTP do, limited. */
  async function start(options: object) {
    const app = express()
    app.use((_req, res, next) => {
      tracer.startActiveSpan('request', (span) => {
        res.on('finish', () => span.end())
        next()
      })
    })
    app.use(rateLimit({ policies: [one], name: 'api', ...options } as never))
    app.get('/', (_req, res) => {
      trace.getActiveSpan()?.setAttribute('handled', true)
      res.end()
    })
    return serve(app)
  }

  const seen = ({ attributes, events }: ReadableSpan) => ({
    attributes,
    events: events.map(({ name, attributes }) => ({ name, attributes })),
  })

  it('says what was decided of it, and a refusal why and until when', async () => {
    const { ask } = await start({ metrics: openTelemetryMetrics({ meterProvider }) })
    for (const status of [200, 429]) expect((await ask('/')).status).toBe(status)
    const about = { 'rate_limit.limiter': 'api', 'rate_limit.source': 'store' }
    const [passed, denied] = spans.getFinishedSpans().map(seen)
    expect(passed).toEqual({
      attributes: { ...about, 'rate_limit.outcome': 'admitted', handled: true },
      events: [],
    })
    const why = { ...about, 'rate_limit.outcome': 'refused', 'rate_limit.policy': 'one' }
    expect(denied?.attributes).toEqual(why)
    expect(denied?.events).toEqual([
      {
        name: 'rate_limit.denied',
        attributes: { ...why, 'rate_limit.retry_after': expect.closeTo(86_400, -2) },
      },
    ])
  })

  it('says when the store could not be asked', async () => {
    const store = farStore(testClock())
    store.fare(refused())
    const { ask } = await start({ store, metrics: openTelemetryMetrics({ meterProvider }) })
    expect((await ask('/')).status).toBe(200)
    const [passed] = spans.getFinishedSpans().map(seen)
    expect(passed?.attributes).toMatchObject({ 'rate_limit.outcome': 'unchecked', handled: true })
    expect(passed?.events).toEqual([
      {
        name: 'rate_limit.store_failure',
        attributes: {
          'rate_limit.limiter': 'api',
          'rate_limit.reason': 'disconnected',
          'rate_limit.mode': 'open',
        },
      },
    ])
  })

  it('says nothing where spans are to be left alone', async () => {
    const { ask } = await start({ metrics: openTelemetryMetrics({ meterProvider, spans: false }) })
    for (let call = 0; call < 2; call += 1) await ask('/')
    expect(spans.getFinishedSpans().map(seen)).toEqual([
      { attributes: { handled: true }, events: [] },
      { attributes: {}, events: [] },
    ])
  })
})
