import type { DecisionEvent, FailureReason, LimiterEvent } from '../events.js'
import type { BreakerState } from '../failure/breaker.js'
import type { FailureMode } from '../failure/watch.js'
import type { Offender } from '../top/offenders.js'

/** What makes figures of limiters: `prometheusMetrics()`, `openTelemetryMetrics()`, or something of your own. */
export interface Metrics {
  /** Called by each limiter that is given it, once, when the limiter is made. */
  watch(limiter: Watched): Watcher
}

/** What there is to know of a limiter that is watched. */
export interface Watched {
  /** Its `name`; empty where it has none. */
  readonly name: string
  top(n: number): readonly Offender[]
}

/** What a limiter tells while it works, each time that it happens. What any of it throws is passed over. */
export interface Watcher {
  /** A call was decided, or looked at. */
  decided(event: DecisionEvent): void
  /** The store could not be asked, or not in time; by calls and by what gives back. */
  failed(reason: FailureReason, mode: FailureMode): void
  /** The store is left alone, but for a call now and then, or asked again. */
  turned(state: BreakerState): void
  /**
   * What `onEvent` is told too. Of events with `times` each comes by itself here; the others are as few as there, and
   * what they tell of can be counted by the methods above.
   */
  told(event: LimiterEvent): void
  /** The limiter was closed. Calls that were under way may still be decided. */
  closed(): void
}
