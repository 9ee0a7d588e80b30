/** What is counted or measured, under the name that Prometheus knows it by. */
export interface Figure<Label extends string = string> {
  readonly name: string
  readonly help: string
  /** Every label takes few values: see `labels.ts`. */
  readonly labels: readonly Label[]
}

interface HistogramFigure<Label extends string> extends Figure<Label> {
  readonly unit: 's' | '1'
  readonly buckets: readonly number[]
}

interface CounterLabels {
  readonly allowed: 'limiter' | 'endpoint' | 'plan' | 'outcome'
  readonly denied: 'limiter' | 'endpoint' | 'policy' | 'plan' | 'outcome'
  readonly local: 'limiter' | 'source' | 'outcome'
  readonly shadowed: 'limiter' | 'group' | 'policy' | 'plan' | 'passed'
  readonly failures: 'limiter' | 'reason' | 'mode'
  readonly lost: 'limiter' | 'policy' | 'reason'
}

interface HistogramLabels {
  readonly duration: 'limiter' | 'source'
  readonly remaining: 'limiter' | 'policy' | 'plan'
}

export const COUNTERS: { readonly [N in keyof CounterLabels]: Figure<CounterLabels[N]> } = {
  allowed: {
    name: 'rate_limit_requests_allowed_total',
    help: 'Calls that passed: admitted, or unchecked because the store could not be asked',
    labels: ['limiter', 'endpoint', 'plan', 'outcome'],
  },
  denied: {
    name: 'rate_limit_requests_denied_total',
    help: 'Calls that did not pass; policy is the one that asked for the longest wait',
    labels: ['limiter', 'endpoint', 'policy', 'plan', 'outcome'],
  },
  local: {
    name: 'rate_limit_local_decisions_total',
    help: 'Calls decided in this process: by its share without the store (local), or to save the trip (lease, deny-cache)',
    labels: ['limiter', 'source', 'outcome'],
  },
  shadowed: {
    name: 'rate_limit_shadow_refusals_total',
    help: 'Calls that a shadow or a candidate would have refused; passed says whether they passed',
    labels: ['limiter', 'group', 'policy', 'plan', 'passed'],
  },
  failures: {
    name: 'rate_limit_store_failures_total',
    help: 'Times that the store could not be asked, and how calls are decided then',
    labels: ['limiter', 'reason', 'mode'],
  },
  lost: {
    name: 'rate_limit_buckets_lost_total',
    help: 'Buckets that began afresh: evicted from full memory, unreadable (healed), or taken ahead and lost (lease-lost)',
    labels: ['limiter', 'policy', 'reason'],
  },
}

export const HISTOGRAMS: { readonly [N in keyof HistogramLabels]: HistogramFigure<HistogramLabels[N]> } = {
  duration: {
    name: 'rate_limit_check_duration_seconds',
    help: 'How long decisions took, by who made them',
    labels: ['limiter', 'source'],
    unit: 's',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1],
  },
  remaining: {
    name: 'rate_limit_remaining_ratio',
    help: 'Part of the quota that calls found left, after they were decided',
    labels: ['limiter', 'policy', 'plan'],
    unit: '1',
    buckets: [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1],
  },
}

export const GAUGES: Readonly<Record<'breaker' | 'top', Figure>> = {
  breaker: {
    name: 'rate_limit_breaker_open',
    help: 'Limiters of this name that leave their store alone after repeated failures',
    labels: ['limiter'],
  },
  top: {
    name: 'rate_limit_top_refusals',
    help: 'Refusals of the last 5 to 6 minutes, of the partitions refused most, in this process',
    labels: ['limiter', 'kind', 'partition', 'policy'],
  },
}

type Labels<Label extends string> = Readonly<Record<Label, string>>

/** Where figures go. A label that is empty has nothing to say. */
export interface Sink {
  count<N extends keyof CounterLabels>(counter: N, labels: Labels<CounterLabels[N]>): void
  record<N extends keyof HistogramLabels>(
    histogram: N,
    labels: Labels<HistogramLabels[N]>,
    value: number,
  ): void
}
