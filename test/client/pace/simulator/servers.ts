import type { Refill } from '@ratepact/contract'

/** What a simulated server decides about one request. */
export interface Verdict {
  readonly accepted: boolean
  /** Units left afterwards. */
  readonly available: number
  /** `t` as an exact number of milliseconds; when refused, until this request would be admitted. */
  readonly tMs: number
  /** How long the answer is held back (a leaky bucket). */
  readonly heldMs: number
}

/** One limit on a virtual clock, as servers in the field keep it. */
export interface Server {
  readonly quota: number
  readonly windowMs: number
  readonly refill: Refill
  /** Stated as `ratepact-rate` where quota over window understates it. */
  readonly ratePerSecond?: number
  decide(nowMs: number): Verdict
  /** Takes back what the last decision charged: another policy refused the request. */
  undo(): void
}

type Time = 'next' | 'full'

/**
 * A token bucket; with `held` a leaky one that lets answers out at its rate; `t` by D15 or as the time to full. With
 * `holdMs` a request whose unit comes within that time is held until then instead of being refused.
 */
export function bucket(
  quota: number,
  windowMs: number,
  about: { held?: boolean; t?: Time; ratePerSecond?: number; holdMs?: number } = {},
): Server {
  const ratePerMs = about.ratePerSecond === undefined ? quota / windowMs : about.ratePerSecond / 1000
  let units = quota
  let atMs = 0
  return {
    quota,
    windowMs,
    refill: 'bucket',
    ...(about.ratePerSecond === undefined ? {} : { ratePerSecond: about.ratePerSecond }),
    decide(nowMs) {
      units = Math.min(quota, units + ratePerMs * (nowMs - atMs))
      atMs = nowMs
      const aheadMs = Math.max(0, (1 - units) / ratePerMs)
      const accepted = aheadMs <= (about.holdMs ?? 0) + 1e-6
      const heldMs = about.held === true && accepted ? (quota - units) / ratePerMs : accepted ? aheadMs : 0
      if (accepted) units -= 1
      const available = Math.max(0, Math.floor(units + 1e-9))
      const nextMs = Math.max(0, (1 - units) / ratePerMs)
      const spreadMs = (available * windowMs) / quota
      const fullMs = (quota - units) / ratePerMs
      const tMs = about.t === 'full' ? fullMs : available > 0 ? spreadMs : nextMs
      return { accepted, available, tMs: accepted ? tMs : about.t === 'full' ? fullMs : nextMs, heldMs }
    },
    undo() {
      units += 1
    },
  }
}

/** A fixed window: on the epoch (shifted by `phaseMs`) or, without a phase, from the first request. */
export function fixed(quota: number, windowMs: number, phaseMs?: number): Server {
  let start = Number.NEGATIVE_INFINITY
  let used = 0
  return {
    quota,
    windowMs,
    refill: 'window',
    decide(nowMs) {
      if (nowMs >= start + windowMs) {
        used = 0
        start = phaseMs === undefined ? nowMs : Math.floor((nowMs - phaseMs) / windowMs) * windowMs + phaseMs
      }
      const accepted = used < quota
      if (accepted) used += 1
      return { accepted, available: quota - used, tMs: start + windowMs - nowMs, heldMs: 0 }
    },
    undo() {
      used -= 1
    },
  }
}

/** A sliding log: every admitted request counts for exactly one window. */
export function log(quota: number, windowMs: number): Server {
  const times: number[] = []
  return {
    quota,
    windowMs,
    refill: 'log',
    decide(nowMs) {
      while ((times[0] ?? nowMs) + windowMs <= nowMs && times.length > 0) times.shift()
      const accepted = times.length < quota
      if (accepted) times.push(nowMs)
      const available = quota - times.length
      const freedMs = (times[0] ?? nowMs) + windowMs - nowMs
      return { accepted, available, tMs: Math.max(freedMs, (available * windowMs) / quota), heldMs: 0 }
    },
    undo() {
      times.pop()
    },
  }
}

/** A sliding counter: this fixed window's count and the fading rest of the last one. */
export function counter(quota: number, windowMs: number, phaseMs: number): Server {
  let index = 0
  let before = 0
  let now = 0
  const at = (timeMs: number) => (timeMs - phaseMs) / windowMs
  const left = (fraction: number) => quota - now - before * (1 - fraction)
  /** Milliseconds until so many units are free, counting from the start of this window. */
  const untilFree = (units: number): number => {
    if (left(1) >= units - 1e-9) return before === 0 ? 0 : (1 - (quota - now - units) / before) * windowMs
    return (1 + Math.max(0, 1 - (quota - units) / now)) * windowMs
  }
  return {
    quota,
    windowMs,
    refill: 'counter',
    decide(nowMs) {
      const current = Math.floor(at(nowMs))
      if (current !== index) {
        before = current === index + 1 ? now : 0
        now = 0
        index = current
      }
      const fraction = at(nowMs) - current
      const accepted = left(fraction) >= 1 - 1e-9
      if (accepted) now += 1
      const available = Math.max(0, Math.floor(left(fraction) + 1e-9))
      const freedMs = Math.max(0.001, untilFree(available + 1) - fraction * windowMs)
      return { accepted, available, tMs: Math.max(freedMs, (available * windowMs) / quota), heldMs: 0 }
    },
    undo() {
      now -= 1
    },
  }
}

/** One server until `atMs`, another from then on: it was restarted, or its limit was changed. */
export function replaced(first: Server, atMs: number, second: Server): Server {
  const at = (nowMs: number) => (nowMs < atMs ? first : second)
  let now = first
  return {
    get quota() {
      return now.quota
    },
    get windowMs() {
      return now.windowMs
    },
    get refill() {
      return now.refill
    },
    decide(nowMs) {
      now = at(nowMs)
      return now.decide(nowMs)
    },
    undo: () => now.undo(),
  }
}

/** One that a competitor uses, too, who asks for a unit at each of these instants, whatever comes of it. */
export function raided(server: Server, atMs: readonly number[]): Server {
  const left = [...atMs].sort((a, b) => a - b)
  return {
    ...server,
    decide(nowMs) {
      for (let next = left[0]; next !== undefined && next <= nowMs; next = left[0]) {
        left.shift()
        server.decide(next)
      }
      return server.decide(nowMs)
    },
  }
}
