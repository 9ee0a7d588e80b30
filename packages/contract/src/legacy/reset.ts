import { expected, largestInteger } from '../check.js'
import type { ResetMeaning, ResetReading } from '../dialect.js'
import type { Read } from '../field-value.js'
import { secondsBetween } from '../numbers.js'

const meanings: readonly ResetMeaning[] = [
  'epoch-seconds',
  'epoch-milliseconds',
  'delta-seconds',
  'http-date',
]

const readings: readonly ResetReading[] = [...meanings, 'by-size']

/** Returns `value` when it is a meaning, and throws otherwise. */
export function checkResetMeaning(where: string, value: unknown): ResetMeaning {
  return checkOneOf(where, value, meanings)
}

/** The same where an answer is read, and its size may decide. */
export function checkResetReading(where: string, value: unknown): ResetReading {
  return checkOneOf(where, value, readings)
}

function checkOneOf<T>(where: string, value: unknown, allowed: readonly T[]): T {
  if (allowed.includes(value as T)) return value as T
  throw new RangeError(expected(where, `one of ${allowed.join(', ')}`, value))
}

/**
 * The longest time that may be told in seconds from now on, 31 years. Some servers send a timestamp
 * where the drafts have a delay, so from one second more a number is taken for one.
 */
export const longestDelta = 999_999_999

/** A delay of this much is a timestamp in milliseconds: as seconds it would be in the year 33658. */
const leastMilliseconds = 1_000_000_000_000

/**
 * Seconds from the answer until its reset, rounded up; an instant in the past is 0. Absent when that is to
 * be counted from a time that is not known: such a reset says as much as none.
 *
 * @param since when the answer was made, in milliseconds since 1970; asked only if it matters.
 */
export function inSeconds(
  reset: Read<number>,
  meaning: Exclude<ResetMeaning, 'http-date'>,
  since: () => number,
): Read<number> {
  if (reset.status !== 'read') return reset
  const { value } = reset
  const isDelta = meaning === 'delta-seconds'
  if (isDelta && value <= longestDelta) return { status: 'read', value: Math.ceil(value) }
  const isMs = meaning === 'epoch-milliseconds' || (isDelta && value >= leastMilliseconds)
  return secondsTo(isMs ? value : value * 1000, since())
}

/** The same of an instant in milliseconds since 1970. */
export function secondsTo(atMs: number, sinceMs: number): Read<number> {
  const value = secondsBetween(sinceMs, atMs, largestInteger)
  return value === undefined ? { status: 'absent' } : { status: 'read', value }
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
