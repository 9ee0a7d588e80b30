import type { Advance } from '../store.js'
import type { TokenBucketPolicy } from './token-bucket.js'

/** Ticks that processes hold of a bucket, and until when they are good. */
export interface Term {
  readonly endsUs: number
  readonly held: number
}

/**
 * What is kept of a bucket of which units have been taken ahead, beside its level. The level is written so high that it
 * falls, by the time that the last units are good no more, to what has been used and is held: so whoever knows only
 * the level never hands out what a process holds.
 */
export interface Advances {
  /** When this was written, and the level then. */
  readonly atUs: number
  readonly level: number
  /** Ticks in use then without those that are held. */
  readonly own: number
  readonly unit: number
  readonly rate: number
  /** At least one; by their end. */
  readonly terms: readonly Term[]
}

/** What an advance comes to: the new level, what is kept beside it, and what the process is told, in ticks. */
export interface Advanced {
  readonly level: number
  readonly all: number
  readonly advances: Advances | undefined
  readonly given: number
  readonly kept: number
  readonly endsUs: number
  readonly lost: boolean
}

/** Nothing is good for longer (µs); a state that says so was written before the clock was set back. */
const LONGEST_US = 180e6
/** More terms than processes of some few settings bring about; beyond it, new units are good as long as the last. */
const MOST_TERMS = 12

/** Ticks in use without those held, and the terms that still run. Units whose term is over count as used at its end. */
function settle(level: number, kept: Advances | undefined, nowUs: number, policy: TokenBucketPolicy) {
  const { unit, rate } = policy.ticks
  if (kept === undefined || kept.atUs > nowUs) return { own: level, terms: [] }
  const last = kept.terms.at(-1)?.endsUs ?? 0
  if (last > nowUs + LONGEST_US) return { own: level, terms: [] }
  const terms = kept.terms.filter(({ endsUs }) => endsUs > nowUs)
  if (kept.unit !== unit || kept.rate !== rate) {
    const renumbered = terms.map((term) => ({ ...term, held: Math.ceil((term.held / kept.unit) * unit) }))
    return { own: Math.max(0, level - sumOf(renumbered)), terms: renumbered }
  }
  let [own, atUs] = [kept.own, kept.atUs]
  for (const { endsUs, held } of kept.terms) {
    if (endsUs > nowUs) break
    own = Math.max(0, own - (endsUs - atUs) * rate) + held
    atUs = endsUs
  }
  own = Math.max(0, own - (nowUs - atUs) * rate)
  // What others took or gave back since is the difference to the level that was to be expected.
  const others = level - Math.max(0, kept.level - (nowUs - kept.atUs) * rate)
  return { own: Math.max(0, own + others), terms }
}

/**
 * Takes units of a bucket ahead. The script `advance` does the same.
 * @param all ticks in use with those that larger numbers granted
 */
export function advanceBucket(
  level: number,
  all: number,
  before: Advances | undefined,
  { held, keep, want, share, lastsUs }: Advance,
  nowUs: number,
  policy: TokenBucketPolicy,
): Advanced {
  const { unit, rate } = policy.ticks
  const settled = settle(level, before, nowUs, policy)
  const term = settled.terms.find(({ endsUs }) => endsUs === held.endsUs)
  const lost = held.units > 0 && (term === undefined || term.held < held.units * unit)
  const there = Math.min(held.units * unit, term?.held ?? 0)
  const spent = Math.min(held.spent * unit, held.endsUs > nowUs ? Number.POSITIVE_INFINITY : 0)
  const own = settled.own + spent
  const left = keep ? Math.max(0, there - spent) : 0
  const others = withHeld(settled.terms, held.endsUs, -there)
  const endsUs = endOf(others, held.endsUs, nowUs, lastsUs)
  const room =
    policy.quota * unit - own - sumOf(others) - left - holdUs([...others, { endsUs }], nowUs) * rate
  const given = Math.min(want, Math.max(0, Math.floor(room / share / unit))) * unit
  // Where there is no room to hold units for longer, those that are held stay as they are.
  const ends = room >= 0 ? endsUs : held.endsUs
  const terms = withHeld(others, ends, left + given)
  const sum = own + sumOf(terms) + holdUs(terms, nowUs) * rate
  const allAfter = all + sum - level
  // Where larger numbers granted more, the level is no lower for what is given back of that.
  const after = all > level ? Math.min(Math.max(sum, level), allAfter) : sum
  const advances = { atUs: nowUs, level: after, own, unit, rate, terms }
  return {
    level: after,
    all: allAfter,
    advances: terms.length > 0 ? advances : undefined,
    given,
    kept: left,
    endsUs: ends,
    lost,
  }
}

/** Ends are rounded up, so that there are few of them, and never before the one that a process knows. */
function endOf(terms: readonly Term[], knownUs: number, nowUs: number, lastsUs: number): number {
  const last = terms.at(-1)
  if (terms.length >= MOST_TERMS && last !== undefined) return Math.max(last.endsUs, knownUs)
  const step = Math.ceil(lastsUs / 2)
  return Math.ceil((nowUs + lastsUs) / step) * step
}

function holdUs(terms: readonly { readonly endsUs: number }[], nowUs: number): number {
  return terms.reduce((longest, { endsUs }) => Math.max(longest, endsUs - nowUs), 0)
}

function sumOf(terms: readonly Term[]): number {
  return terms.reduce((sum, { held }) => sum + held, 0)
}

/** Terms with more or less held until an instant, without those of which nothing is. */
function withHeld(terms: readonly Term[], endsUs: number, add: number): readonly Term[] {
  const held = (terms.find((term) => term.endsUs === endsUs)?.held ?? 0) + add
  const rest = terms.filter((term) => term.endsUs !== endsUs)
  return held > 0 ? [...rest, { endsUs, held }].sort((a, b) => a.endsUs - b.endsUs) : rest
}
