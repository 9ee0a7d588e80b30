import { parseHttpDate } from '@ratepact/contract'
import { numbers } from './number.js'

/** More than that is a timestamp: as a delay it would be 31 years. */
const longestDelay = 999_999_999
/** And from here on one in milliseconds: as seconds it would be in the year 33658. */
const leastMilliseconds = 1_000_000_000_000
/** Nobody waits for what is further away; it means nothing. */
const mostMs = 10 * 365 * 86_400_000

const isoDate = /^(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,3})\d*)?)?(Z|[+-]\d\d:?\d\d)$/
const scriptDate = /^[A-Z][a-z]{2} ([A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d GMT[+-]\d{4})(?: \([^)]*\))?$/
const unitsMs = /* @__PURE__ */ new Map(
  Object.entries({ ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }),
)

/**
 * Milliseconds from an answer until what a field says, whichever way: a delay, a timestamp, told apart by its size, a duration
 * as Go writes it, or a date (HTTP, ISO 8601, JavaScript's own). Of several numbers the largest.
 *
 * @param madeMs when the answer was made, in milliseconds since 1970
 * @returns at least 0, since a date may pass on the way; undefined for what makes no sense or is ten years away
 */
export function untilMs(
  text: string,
  madeMs: () => number,
  smallIn: 'seconds' | 'milliseconds',
): number | undefined {
  const ms = delayMs(text, madeMs, smallIn)
  return ms !== undefined && ms <= mostMs ? Math.max(0, ms) : undefined
}

function delayMs(
  text: string,
  madeMs: () => number,
  smallIn: 'seconds' | 'milliseconds',
): number | undefined {
  const listed = numbers(text)
  if (listed === undefined) return durationMs(text) ?? from(dateMs(text), madeMs)
  const number = Math.max(...listed)
  if (number >= leastMilliseconds) return from(number, madeMs)
  if (number > longestDelay) return from(number * 1000, madeMs)
  return smallIn === 'seconds' ? number * 1000 : number
}

function from(atMs: number | undefined, madeMs: () => number): number | undefined {
  const ms = atMs === undefined ? Number.NaN : atMs - madeMs()
  return Number.isNaN(ms) ? undefined : ms
}

/** `1m30s`, `12ms`, `1.5s`. */
export function durationMs(text: string): number | undefined {
  if (!/^(?:\d{1,12}(?:\.\d{1,12})?(?:ns|us|µs|ms|s|m|h|d)){1,8}$/.test(text)) return undefined
  let ms = 0
  for (const [, number, unit = ''] of text.matchAll(/([\d.]+)([^\d.]+)/g))
    ms += Number(number) * (unitsMs.get(unit) ?? 0)
  return ms
}

function dateMs(text: string): number | undefined {
  const http = parseHttpDate(text)
  if (http !== undefined) return http
  const iso = isoDate.exec(text)
  if (iso !== null) {
    const [, minute, second = '00', fraction = '0', zone = ''] = iso
    return Date.parse(
      `${minute}:${second}.${fraction.padEnd(3, '0')}${zone.replace(/(\d\d)(\d\d)$/, '$1:$2')}`,
    )
  }
  const script = scriptDate.exec(text)?.[1]
  return script === undefined ? undefined : Date.parse(script)
}
