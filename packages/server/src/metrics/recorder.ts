import type { Decision, Limit } from '../decision.js'
import type { DecisionEvent, LimiterEvent } from '../events.js'
import type { Offender } from '../top/offenders.js'
import type { Sink } from './figures.js'
import { createLabel } from './labels.js'
import type { Metrics, Watched, Watcher } from './metrics.js'

/** Turns what limiters tell into figures, and knows what gauges show. */
export interface Recorder extends Metrics {
  /** How many limiters of each name leave their store alone. */
  breakers(): Iterable<readonly [limiter: string, open: number]>
  /** The n partitions of each limiter that are refused most. */
  top(n: number): Iterable<readonly [limiter: string, offender: Offender]>
}

/** A limiter is for a process, not for a call. Were they made without end, the first ones would be shown. */
const MOST_LIMITERS = 100

export function createRecorder(sink: Sink, maxEndpoints: number): Recorder {
  const endpointOf = createLabel(maxEndpoints)
  const limiterOf = createLabel(MOST_LIMITERS)
  const open = new Map<string, number>()
  const watched = new Map<Watched, string>()

  function watch(about: Watched): Watcher {
    const limiter = limiterOf(about.name)
    let isOpen = false
    if (!open.has(limiter)) open.set(limiter, 0)
    if (watched.size < MOST_LIMITERS) watched.set(about, limiter)

    function turn(to: boolean): void {
      if (to !== isOpen) open.set(limiter, (open.get(limiter) ?? 0) + (to ? 1 : -1))
      isOpen = to
    }

    return {
      decided(event) {
        if (event.kind === 'consume') record(sink, limiter, endpointOf(event.scope ?? ''), event)
      },
      failed: (reason, mode) => sink.count('failures', { limiter, reason, mode }),
      turned: (state) => turn(state === 'open'),
      told(event) {
        if (isLoss(event)) sink.count('lost', { limiter, policy: event.policy, reason: event.type })
      },
      closed() {
        watched.delete(about)
        turn(false)
      },
    }
  }

  return {
    watch,
    breakers: () => open,
    *top(n) {
      for (const [{ top }, limiter] of watched) for (const offender of top(n)) yield [limiter, offender]
    },
  }
}

function record(sink: Sink, limiter: string, endpoint: string, { decision, ms }: DecisionEvent): void {
  const { outcome, source, plan = '' } = decision
  if (decision.allowed) sink.count('allowed', { limiter, endpoint, plan, outcome })
  else sink.count('denied', { limiter, endpoint, policy: decisiveOf(decision) ?? '', plan, outcome })
  if (source !== 'store' && source !== 'none') sink.count('local', { limiter, source, outcome })
  sink.record('duration', { limiter, source }, ms / 1000)
  // A share of a quota is not a part of the whole.
  if ('limits' in decision && source !== 'local')
    for (const { policy, available, quota } of decision.limits)
      sink.record('remaining', { limiter, policy, plan }, Math.min(1, available / quota))
  recordTrials(sink, limiter, decision)
}

function recordTrials(sink: Sink, limiter: string, decision: Decision): void {
  // A repeated admission is no further call.
  if (decision.outcome === 'admitted' && decision.replayed) return
  const { plan = '', allowed, shadow } = decision
  for (const tried of shadow) {
    if (tried.allowed) continue
    const policy = tried.policy ?? longestOf(tried.violated, tried.limits) ?? ''
    sink.count('shadowed', { limiter, group: tried.group, policy, plan, passed: String(allowed) })
  }
}

/** The policy that a refused call has to wait for; undefined where none decided. */
export function decisiveOf(decision: Decision): string | undefined {
  if (!('violated' in decision)) return undefined
  return longestOf(decision.violated, 'limits' in decision ? decision.limits : [])
}

function longestOf(violated: readonly string[], limits: readonly Limit[]): string | undefined {
  let [longest] = violated
  let longestMs = -1
  for (const { policy, allowed, effectiveWindowMs = 0 } of limits) {
    if (allowed || effectiveWindowMs <= longestMs) continue
    longest = policy
    longestMs = effectiveWindowMs
  }
  return longest
}

type Loss = Extract<LimiterEvent, { type: 'evicted' | 'healed' | 'lease-lost' }>

function isLoss(event: LimiterEvent): event is Loss {
  return event.type === 'evicted' || event.type === 'healed' || event.type === 'lease-lost'
}
