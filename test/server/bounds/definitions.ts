// What each algorithm promises, written down from its definition alone: every admitted call is remembered with its
// instant, and every question is answered by adding up what is remembered. Slow, and with nothing to get wrong.

/** The numbers of a policy. All instants and spans are whole microseconds. */
export type Rule =
  /** A burst of `quota`, and `units` more in every `us`; a queue holds calls, for at most `longestUs`. */
  | {
      readonly kind: 'bucket' | 'queue'
      readonly quota: number
      readonly units: number
      readonly us: number
      readonly longestUs: number
    }
  /** Windows of the calendar, windows that begin with a call, any window at all, or an estimate of any window. */
  | {
      readonly kind: 'calendar' | 'from-first' | 'log' | 'counter'
      readonly quota: number
      readonly windowUs: number
    }
  /** Places that are held for at most `leaseUs`. */
  | { readonly kind: 'places'; readonly quota: number; readonly leaseUs: number }

/** An admitted call; of places, `endUs` is when they are free again. */
export interface Call {
  readonly atUs: number
  readonly cost: number
  endUs: number
}

export const sum = (calls: readonly Call[]): number => calls.reduce((total, { cost }) => total + cost, 0)

/** Whether a call of this cost fits now, after the calls that were admitted before. */
export function fits(rule: Rule, calls: readonly Call[], nowUs: number, cost: number): boolean {
  if (rule.kind === 'queue' && cost > 0 && backlog(rule, calls, nowUs) > rule.longestUs * rule.units)
    return false
  return cost === 0 || inUse(rule, calls, nowUs) + cost <= rule.quota
}

/** Units that are in use now; of buckets, such that as many fit as are not. */
export function inUse(rule: Rule, calls: readonly Call[], nowUs: number): number {
  switch (rule.kind) {
    case 'bucket':
    case 'queue':
      return Math.ceil(backlog(rule, calls, nowUs) / rule.us)
    case 'calendar': {
      const startUs = windowStart(nowUs, rule.windowUs)
      return sum(calls.filter(({ atUs }) => atUs >= startUs))
    }
    case 'from-first': {
      const last = windowsFromFirst(calls, rule.windowUs).at(-1) ?? []
      return last[0] !== undefined && nowUs - last[0].atUs < rule.windowUs ? sum(last) : 0
    }
    case 'log':
      return sum(calls.filter(({ atUs }) => nowUs - atUs < rule.windowUs))
    case 'counter': {
      const startUs = windowStart(nowUs, rule.windowUs)
      const before = calls.filter(({ atUs }) => atUs < startUs && atUs >= startUs - rule.windowUs)
      const left = startUs + rule.windowUs - nowUs
      return (
        Math.ceil((sum(before) * left) / rule.windowUs) + sum(calls.filter(({ atUs }) => atUs >= startUs))
      )
    }
    case 'places':
      return sum(calls.filter(({ endUs }) => endUs > nowUs))
  }
}

/**
 * What is in a bucket, in units times `us`: the most by which the calls since any call are above what has come back
 * since that call. In whole numbers, so that a rate such as 7 in 3 s is exact.
 */
export function backlog(
  rule: Rule & { kind: 'bucket' | 'queue' },
  calls: readonly Call[],
  nowUs: number,
): number {
  let taken = 0
  let most = 0
  for (const { atUs, cost } of [...calls].reverse()) {
    taken += cost
    most = Math.max(most, taken * rule.us - (nowUs - atUs) * rule.units)
  }
  return most
}

function windowStart(nowUs: number, windowUs: number): number {
  return nowUs - (nowUs % windowUs)
}

/** The windows that calls opened: each begins with the first call after the one before has ended. */
export function windowsFromFirst(calls: readonly Call[], windowUs: number): readonly (readonly Call[])[] {
  const windows: Call[][] = []
  for (const call of calls.filter(({ cost }) => cost > 0)) {
    const first = windows.at(-1)?.[0]
    if (first === undefined || call.atUs - first.atUs >= windowUs) windows.push([call])
    else windows.at(-1)?.push(call)
  }
  return windows
}
