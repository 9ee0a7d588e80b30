// What each algorithm promises, written down from its definition alone: every admitted call is remembered with its
// instant, and every question is answered by adding up what is remembered. Slow, and with nothing to get wrong.

/**
 * The numbers of a policy. All instants and spans are whole microseconds. Of a bucket, and of a window of the calendar or
 * from the first call, `holdUs` is for how long calls may be held until their units are there.
 */
export type Rule =
  /** A burst of `quota`, and `units` more in every `us`; a queue holds calls, for at most `longestUs`. */
  | {
      readonly kind: 'bucket' | 'queue'
      readonly quota: number
      readonly units: number
      readonly us: number
      readonly longestUs: number
      readonly holdUs?: number
    }
  /** Windows of the calendar, windows that begin with a call, any window at all, or an estimate of any window. */
  | {
      readonly kind: 'calendar' | 'from-first' | 'log' | 'counter'
      readonly quota: number
      readonly windowUs: number
      readonly holdUs?: number
    }
  /** Places that are held for at most `leaseUs`. */
  | { readonly kind: 'places'; readonly quota: number; readonly leaseUs: number }

/**
 * An admitted call; of places, `endUs` is when they are free again. Of windows, one that is held counts from when it is
 * let go.
 */
export interface Call {
  readonly atUs: number
  readonly cost: number
  endUs: number
}

export const sum = (calls: readonly Call[]): number => calls.reduce((total, { cost }) => total + cost, 0)

/** Whether a call of this cost fits now, or by when it may be held; after the calls that were admitted before. */
export function passes(rule: Rule, calls: readonly Call[], nowUs: number, cost: number): boolean {
  if (fits(rule, calls, nowUs, cost)) return true
  const heldUs = heldFor(rule, calls, nowUs, cost)
  return heldUs !== undefined && heldUs <= holdOf(rule)
}

/** For how long a call would have to be held, which does not fit now; undefined where no time says. */
export function heldFor(rule: Rule, calls: readonly Call[], nowUs: number, cost: number): number | undefined {
  if (cost === 0) return undefined
  if (rule.kind === 'bucket')
    return Math.ceil((backlog(rule, calls, nowUs) + (cost - rule.quota) * rule.us) / rule.units)
  if (rule.kind !== 'calendar' && rule.kind !== 'from-first') return undefined
  // The next window has, for calls that are held, as many units as come on the average while one may be held.
  const startsUs = nextWindow(rule, calls, nowUs)
  const ahead = sum(calls.filter(({ atUs }) => atUs >= startsUs))
  const most = Math.min(rule.quota, Math.floor((rule.quota * holdOf(rule)) / rule.windowUs))
  return ahead + cost <= most ? startsUs - nowUs : undefined
}

function holdOf(rule: Rule): number {
  return 'holdUs' in rule ? (rule.holdUs ?? 0) : 0
}

/** When the window ends that is now. */
function nextWindow(
  { kind, windowUs }: Rule & { readonly windowUs: number },
  calls: readonly Call[],
  nowUs: number,
): number {
  if (kind === 'calendar') return windowStart(nowUs, windowUs) + windowUs
  const windows = windowsFromFirst(calls, windowUs).flatMap(([first]) => (first ? [first.atUs] : []))
  const now = windows.filter((startUs) => startUs <= nowUs).at(-1) ?? nowUs
  return nowUs - now < windowUs ? now + windowUs : nowUs + windowUs
}

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
      return sum(calls.filter(({ atUs }) => atUs >= startUs && atUs <= nowUs))
    }
    case 'from-first': {
      const windows = windowsFromFirst(calls, rule.windowUs)
      const last = windows.filter(([first]) => first !== undefined && first.atUs <= nowUs).at(-1) ?? []
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
  const inTurn = calls.filter(({ cost }) => cost > 0).sort((a, b) => a.atUs - b.atUs)
  for (const call of inTurn) {
    const first = windows.at(-1)?.[0]
    if (first === undefined || call.atUs - first.atUs >= windowUs) windows.push([call])
    else windows.at(-1)?.push(call)
  }
  return windows
}
