import {
  Counter,
  register as defaultRegister,
  Gauge,
  Histogram,
  type OpenMetricsContentType,
  type Registry,
} from 'prom-client'
import { expected, expectInteger, expectObject, expectOnly } from './expect.js'
import { COUNTERS, type Figure, GAUGES, HISTOGRAMS } from './metrics/figures.js'
import { printable } from './metrics/labels.js'
import type { Metrics } from './metrics/metrics.js'
import { createRecorder } from './metrics/recorder.js'

export type { Metrics } from './metrics/metrics.js'

export interface PrometheusOptions {
  /** Where the metrics are registered. @default the default registry of prom-client */
  readonly register?: Registry | Registry<OpenMetricsContentType>
  /** What every name begins with, before `rate_limit_`. @default '' */
  readonly prefix?: string
  /**
   * How many endpoints are told apart; those that come later are counted as `other`. The endpoint of a call is its scope:
   * in adapters the method and the route's pattern. From 1 to 10 000. @default 100
   */
  readonly maxEndpoints?: number
  /**
   * How many partitions `rate_limit_top_refusals` shows of each limiter: those refused most, of late. Their identities
   * (addresses, keys, whatever you count by) are then on the page that Prometheus reads. From 0 to 100. @default 0
   */
  readonly top?: number
}

const PREFIX = /^([a-zA-Z_:][a-zA-Z0-9_:]*)?$/

/**
 * Figures of limiters for Prometheus. Make it once, and give it to every limiter or adapter as `metrics`.
 * @throws TypeError or RangeError naming the option, the value and the rule; TypeError where the registry has them already
 * @example
 * const metrics = prometheusMetrics()
 * app.use(rateLimit({ policies, metrics }))
 * app.get('/metrics', async (_req, res) => res.type(register.contentType).send(await register.metrics()))
 */
export function prometheusMetrics(options: PrometheusOptions = {}): Metrics {
  const { register, prefix, maxEndpoints, top } = expectOptions(options)
  // All names are looked for before the first is taken: a try that fails leaves the registry as it was.
  for (const { name } of [...Object.values(COUNTERS), ...Object.values(HISTOGRAMS), ...Object.values(GAUGES)])
    expectFree(register, prefix + name)
  const about = (figure: Figure) => ({
    name: prefix + figure.name,
    help: figure.help,
    labelNames: figure.labels,
    registers: [register],
  })
  const counters = mapped(COUNTERS, (figure) => new Counter<string>(about(figure)))
  const histograms = mapped(
    HISTOGRAMS,
    (figure) => new Histogram<string>({ ...about(figure), buckets: [...figure.buckets] }),
  )
  const recorder = createRecorder(
    {
      count: (name, labels) => counters[name].inc(labels),
      record: (name, labels, value) => histograms[name].observe(labels, value),
    },
    maxEndpoints,
  )
  new Gauge<string>({
    ...about(GAUGES.breaker),
    collect() {
      for (const [limiter, open] of recorder.breakers()) this.set({ limiter }, open)
    },
  })
  if (top > 0)
    new Gauge<string>({
      ...about(GAUGES.top),
      // Whoever is not among the worst any more has no series any more.
      collect() {
        this.reset()
        for (const [limiter, { kind, value, policy, atLeast }] of recorder.top(top))
          this.inc({ limiter, kind, partition: printable(value), policy }, atLeast)
      },
    })
  return { watch: recorder.watch }
}

function mapped<K extends string, V, M>(record: Readonly<Record<K, V>>, make: (value: V) => M): Record<K, M> {
  const entries = Object.entries(record) as [K, V][]
  return Object.fromEntries(entries.map(([key, value]) => [key, make(value)])) as Record<K, M>
}

function expectFree(register: Required<PrometheusOptions>['register'], name: string): void {
  if (register.getSingleMetric(name) === undefined) return
  throw new TypeError(
    `The registry has a metric ${name} already: make prometheusMetrics once and give it to every limiter, or give it a prefix`,
  )
}

function expectOptions(options: PrometheusOptions): Required<PrometheusOptions> {
  expectObject('the options of prometheusMetrics', options)
  expectOnly('prometheusMetrics', options, ['register', 'prefix', 'maxEndpoints', 'top'])
  const { register = defaultRegister, prefix = '', maxEndpoints = 100, top = 0 } = options
  const { getSingleMetric, registerMetric } = (register ?? {}) as Partial<Registry>
  if (typeof getSingleMetric !== 'function' || typeof registerMetric !== 'function')
    throw new TypeError(expected('register', 'a Registry of prom-client', register))
  if (typeof prefix !== 'string' || !PREFIX.test(prefix))
    throw new TypeError(expected('prefix', `a beginning of a name, matching ${PREFIX.source}`, prefix))
  expectInteger('maxEndpoints', maxEndpoints, 1, 10_000)
  expectInteger('top', top, 0, 100)
  return { register, prefix, maxEndpoints, top }
}
