import {
  type Attributes,
  type Counter,
  metrics as globalMetrics,
  type Histogram,
  type MeterProvider,
  trace,
  ValueType,
} from '@opentelemetry/api'
import type { DecisionEvent } from './events.js'
import { expected, expectInteger, expectObject, expectOneOf, expectOnly } from './expect.js'
import { COUNTERS, type Figure, GAUGES, HISTOGRAMS } from './metrics/figures.js'
import type { Metrics, Watcher } from './metrics/metrics.js'
import { createRecorder, decisiveOf } from './metrics/recorder.js'

export type { Metrics } from './metrics/metrics.js'

export interface OpenTelemetryOptions {
  /** Where the instruments are made. @default the global one, which must be set by then */
  readonly meterProvider?: MeterProvider
  /**
   * How many endpoints are told apart; those that come later are counted as `other`. The endpoint of a call is its scope:
   * in adapters the method and the route's pattern. From 1 to 10 000. @default 100
   */
  readonly maxEndpoints?: number
  /** Whether the span that is active when a call is decided is told of it. @default true */
  readonly spans?: boolean
}

/**
 * Figures of limiters for OpenTelemetry, and what was decided on the spans of the calls. Make it once, after the SDK has
 * started, and give it to every limiter or adapter as `metrics`.
 *
 * The names are those of Prometheus with dots (`rate_limit.requests.denied`), labels are attributes
 * (`rate_limit.endpoint`); an exporter for Prometheus makes the same names of them.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example
 * const metrics = openTelemetryMetrics()
 * app.use(rateLimit({ policies, metrics }))
 */
export function openTelemetryMetrics(options: OpenTelemetryOptions = {}): Metrics {
  const { meterProvider, maxEndpoints, spans } = expectOptions(options)
  const meter = meterProvider.getMeter('@ratepact/server')
  const counters = new Map<string, Counter>()
  for (const [key, { help, ...figure }] of Object.entries(COUNTERS))
    counters.set(key, meter.createCounter(dotted(figure), { description: help, valueType: ValueType.INT }))
  const histograms = new Map<string, Histogram>()
  for (const [key, { help, unit, buckets, ...figure }] of Object.entries(HISTOGRAMS)) {
    const advice = { explicitBucketBoundaries: [...buckets] }
    histograms.set(key, meter.createHistogram(dotted(figure), { description: help, unit, advice }))
  }
  const recorder = createRecorder(
    {
      count: (name, labels) => counters.get(name)?.add(1, attributesOf(labels)),
      record: (name, labels, value) => histograms.get(name)?.record(value, attributesOf(labels)),
    },
    maxEndpoints,
  )
  meter
    .createObservableGauge(dotted(GAUGES.breaker), {
      description: GAUGES.breaker.help,
      valueType: ValueType.INT,
    })
    .addCallback((result) => {
      for (const [limiter, open] of recorder.breakers()) result.observe(open, attributesOf({ limiter }))
    })
  return {
    watch(limiter) {
      const watcher = recorder.watch(limiter)
      return spans ? tellingSpans(watcher, limiter.name) : watcher
    },
  }
}

/** A trace shows what was decided of the call that it is about, and why. */
function tellingSpans(watcher: Watcher, limiter: string): Watcher {
  return {
    ...watcher,
    decided(event) {
      watcher.decided(event)
      if (event.kind === 'consume') tellSpan(limiter, event)
    },
    failed(reason, mode) {
      watcher.failed(reason, mode)
      trace.getActiveSpan()?.addEvent('rate_limit.store_failure', attributesOf({ limiter, reason, mode }))
    },
  }
}

function tellSpan(limiter: string, { decision }: DecisionEvent): void {
  const span = trace.getActiveSpan()
  if (span?.isRecording() !== true) return
  const { outcome, source, plan = '' } = decision
  const attributes = attributesOf({ limiter, outcome, source, plan, policy: decisiveOf(decision) ?? '' })
  span.setAttributes(attributes)
  if (decision.allowed) return
  const wait = 'retryAfterSeconds' in decision && { 'rate_limit.retry_after': decision.retryAfterSeconds }
  span.addEvent('rate_limit.denied', { ...attributes, ...wait })
}

/** `rate_limit_requests_denied_total` as `rate_limit.requests.denied`: exporters add what Prometheus wants. */
function dotted({ name }: Pick<Figure, 'name'>): string {
  const [, own = ''] = /^rate_limit_(.+?)(?:_seconds|_total)?$/.exec(name) ?? []
  return `rate_limit.${own.replace('_', '.')}`
}

function attributesOf(labels: Readonly<Record<string, string>>): Attributes {
  const attributes: Attributes = {}
  for (const [label, value] of Object.entries(labels))
    if (value !== '') attributes[`rate_limit.${label}`] = value
  return attributes
}

function expectOptions(options: OpenTelemetryOptions): Required<OpenTelemetryOptions> {
  expectObject('the options of openTelemetryMetrics', options)
  expectOnly('openTelemetryMetrics', options, ['meterProvider', 'maxEndpoints', 'spans'])
  const { meterProvider = globalMetrics, maxEndpoints = 100, spans = true } = options
  if (typeof (meterProvider as Partial<MeterProvider> | null)?.getMeter !== 'function')
    throw new TypeError(expected('meterProvider', 'a MeterProvider, with getMeter', meterProvider))
  expectInteger('maxEndpoints', maxEndpoints, 1, 10_000)
  expectOneOf('spans', spans, [true, false])
  return { meterProvider, maxEndpoints, spans }
}
