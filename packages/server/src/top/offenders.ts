import type { Clock } from '@ratepact/contract'
import { expectInteger } from '../expect.js'
import { hash48 } from '../hash.js'
import type { Policy } from '../policy.js'
import { createHeavyHitters, type HeavyHitters } from './heavy-hitters.js'

/** A partition that a policy has refused often. */
export interface Offender<Name extends string = string, Kind extends string = string> {
  /** Which kind of partition. */
  readonly kind: Kind
  /**
   * Which partition, as the call named it; of one longer than 128 characters the first 64, and a hash of it all. It is
   * what a stranger may have sent: escape it where it is shown.
   */
  readonly value: string
  readonly policy: Name
  /** So many calls were refused for sure; ranked by this. */
  readonly atLeast: number
  /** So many at most. The two differ by no more than a 256th of all that was refused. */
  readonly atMost: number
}

/** Who is refused most, of late. */
export interface Offenders {
  /** As what refusals of calls of `partition` by policies of these names are counted. */
  offences(partition: unknown, violated: readonly string[], policies: readonly Policy[]): readonly string[]
  /** Counts a call that was refused so, at `nowMs`. */
  count(offences: readonly string[], nowMs: number): void
  /** @throws RangeError unless n is from 1 to 256 */
  top(n: number): readonly Offender[]
}

/** As many keys as each window can tell apart for certain; with it goes what all this takes at most: about 300 kB. */
const SIZE = 256
/** What is older is forgotten a window at a time. */
const WINDOW_MS = 60_000
const WINDOWS = 6
const LONGEST_VALUE = 128
const SHOWN_OF_LONGER = 64

/** Counts refusals of the last 5 to 6 minutes. An allowed call does not come by here. */
export function createOffenders(clock: Pick<Clock, 'now'>): Offenders {
  /** The newest first. */
  let windows: readonly HeavyHitters[] = [createHeavyHitters(SIZE)]
  let sinceMs = clock.now()

  function forget(nowMs: number): void {
    if (nowMs - sinceMs < WINDOW_MS) return
    const passed = Math.floor((nowMs - sinceMs) / WINDOW_MS)
    sinceMs += passed * WINDOW_MS
    const empty = Array.from({ length: Math.min(passed, WINDOWS) }, () => createHeavyHitters(SIZE))
    windows = [...empty, ...windows].slice(0, WINDOWS)
  }

  return {
    offences(partition, violated, policies) {
      const offences: string[] = []
      for (const name of violated) {
        const kind = policies.find((policy) => policy.name === name)?.by
        // A text made anew: a part of a longer one, such as of a header, would keep all of it in memory.
        if (kind !== undefined) offences.push(`${kind} ${name} ${bounded(counted(partition, kind))}`)
      }
      return offences
    },
    count(offences, nowMs) {
      forget(nowMs)
      const window = windows[0]
      for (let i = 0; i < offences.length; i += 1) window?.add(offences[i] as string)
    },
    top(n) {
      expectInteger('n', n, 1, SIZE)
      forget(clock.now())
      const sums = sumsOf(windows)
      return [...sums]
        .map(([key, sum]) => offenderFrom(key, sum))
        .sort((one, other) => other.atLeast - one.atLeast || other.atMost - one.atMost)
        .slice(0, n)
    },
  }
}

interface Sum {
  atLeast: number
  atMost: number
}

/** A key that is not in the table of a window may have been there, as often as the least of the table. */
function sumsOf(windows: readonly HeavyHitters[]): ReadonlyMap<string, Sum> {
  const unseen = windows.reduce((sum, { most }) => sum + most, 0)
  const sums = new Map<string, Sum>()
  for (const window of windows)
    for (const { key, count, error } of window.entries()) {
      const sum = sums.get(key) ?? { atLeast: 0, atMost: unseen }
      sum.atLeast += count - error
      sum.atMost += count - window.most
      sums.set(key, sum)
    }
  return sums
}

/** Neither kinds nor names of policies have a space in them. */
function offenderFrom(key: string, { atLeast, atMost }: Sum): Offender {
  const [kind = '', policy = ''] = key.split(' ', 2)
  return { kind, value: key.slice(kind.length + policy.length + 2), policy, atLeast, atMost }
}

function counted(partition: unknown, kind: string): string {
  if (typeof partition === 'string') return partition
  return (partition as Readonly<Record<string, string>>)[kind] ?? ''
}

function bounded(value: string): string {
  if (value.length <= LONGEST_VALUE) return value
  return `${value.slice(0, SHOWN_OF_LONGER)}…${hash48(value).toString(16).padStart(12, '0')}`
}
