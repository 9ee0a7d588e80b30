import { expected, largestInteger } from '../check.js'
import type { ResetMeaning } from '../dialect.js'

const meanings: readonly unknown[] = [
  'epoch-seconds',
  'epoch-milliseconds',
  'delta-seconds',
  'http-date',
] satisfies ResetMeaning[]

/** Returns `value` when it is a meaning, and throws otherwise. */
export function checkResetMeaning(where: string, value: unknown): ResetMeaning {
  if (isMeaning(value)) return value
  throw new RangeError(expected(where, `one of ${meanings.join(', ')}`, value))
}

/** The same where an answer is read, and its size may decide. */
export function checkResetReading(where: string, value: unknown): void {
  if (value !== 'by-size' && !isMeaning(value))
    throw new RangeError(expected(where, `one of ${meanings.join(', ')}, by-size`, value))
}

function isMeaning(value: unknown): value is ResetMeaning {
  return meanings.includes(value)
}

/**
 * The longest time that may be told in seconds from now on, 31 years. Some servers send a timestamp
 * where the drafts have a delay, so from one second more a number is taken for one.
 */
export const longestDelta = 999_999_999

/** A delay of this much is a timestamp in milliseconds: as seconds it would be in the year 33658. */
const leastMilliseconds = 1_000_000_000_000

/**
 * Seconds from the answer until its reset, rounded up; an instant in the past is 0.
 *
 * @param since when the answer was made, in milliseconds since 1970; asked only if it matters.
 * @returns undefined when `since` is not known.
 */
export function secondsUntil(
  reset: number,
  meaning: Exclude<ResetMeaning, 'http-date'>,
  since: () => number,
): number | undefined {
  if (meaning === 'epoch-milliseconds') return secondsFrom(reset, since())
  if (meaning === 'epoch-seconds') return secondsFrom(reset * 1000, since())
  if (reset > longestDelta) return secondsFrom(reset < leastMilliseconds ? reset * 1000 : reset, since())
  return Math.ceil(reset)
}

export function secondsFrom(atMs: number, sinceMs: number): number | undefined {
  const seconds = Math.ceil((atMs - sinceMs) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), largestInteger)
}

/** What a reset is written from. */
interface Window {
  windowSeconds: number
  windowMs: number
}

/** Seconds from now on, at most so many that no reader takes them for a timestamp. */
export function writeDelta({ windowSeconds }: Window): number {
  return Math.min(windowSeconds, longestDelta)
}

/** Rounded up to what the meaning can tell, so that nobody comes early. */
export function writeReset(window: Window, meaning: ResetMeaning, now: Date): string {
  if (meaning === 'delta-seconds') return String(writeDelta(window))
  const atMs = checkNow(now) + window.windowMs
  if (meaning === 'epoch-milliseconds') return String(Math.min(Math.ceil(atMs), largestInteger))
  const seconds = Math.ceil(atMs / 1000)
  if (meaning === 'epoch-seconds') return String(Math.min(seconds, largestInteger))
  return new Date(Math.min(seconds * 1000, latestDate)).toUTCString()
}

/** The last second of the year 9999, as an HTTP-date has four digits for the year. */
const latestDate = 253_402_300_799_000

function checkNow(now: unknown): number {
  const ms = now instanceof Date ? now.getTime() : Number.NaN
  if (ms >= 0 && ms <= latestDate) return ms
  throw new RangeError(expected('now', 'a Date from 1970 to 9999', now))
}
