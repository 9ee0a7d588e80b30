import { type FieldValue, joinLines, trim } from './field-value.js'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const month = `(?<month>${months.join('|')})`
const time = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})'
const shortDay = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const longDay = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)'

const imfFixdate = new RegExp(`^${shortDay}, (?<day>\\d{2}) ${month} (?<year>\\d{4}) ${time} GMT$`)
const rfc850 = new RegExp(`^${longDay}, (?<day>\\d{2})-${month}-(?<shortYear>\\d{2}) ${time} GMT$`)
const asctime = new RegExp(`^${shortDay} ${month} (?<day>\\d{2}| \\d) ${time} (?<year>\\d{4})$`)

/**
 * Reads an HTTP-date in any of its three forms (RFC 9110 section 5.6.7), all of them in UTC and to the
 * letter. A wrong day of the week is overlooked, a day that does not exist is not. Second 60 is the
 * first instant of the next minute.
 *
 * @param now decides the century of the form that has a two-digit year: never over 50 years ahead.
 * @returns milliseconds since 1970, or undefined for any other text.
 */
export function parseHttpDate(text: string, now: Date = new Date()): number | undefined {
  const parts = (imfFixdate.exec(text) ?? asctime.exec(text) ?? rfc850.exec(text))?.groups
  if (parts === undefined) return undefined
  if (parts.year !== undefined) return instant(parts, Number(parts.year))
  const latest = new Date(now)
  latest.setUTCFullYear(latest.getUTCFullYear() + 50)
  const century = Math.floor(latest.getUTCFullYear() / 100) * 100
  for (const year of [century + Number(parts.shortYear), century - 100 + Number(parts.shortYear)]) {
    const at = instant(parts, year)
    if (at !== undefined && at <= latest.getTime()) return at
  }
  return undefined
}

/**
 * When an answer was made, in milliseconds since 1970: its own `Date`, which cancels the difference
 * between the two clocks, or `now` where that field is missing or unreadable.
 */
export function answeredAt(date: FieldValue, now: Date): number {
  const field = joinLines(date)
  return (field.status === 'text' ? parseHttpDate(trim(field.text), now) : undefined) ?? now.getTime()
}

function instant(parts: Record<string, string | undefined>, year: number): number | undefined {
  const part = (name: string) => Number(parts[name])
  const [day, hour, minute, second] = [part('day'), part('hour'), part('minute'), part('second')] as const
  if (hour > 23 || minute > 59 || second > 60) return undefined
  const monthIndex = months.indexOf(parts.month ?? '')
  // Date.UTC takes the years 0 to 99 for 1900 to 1999; setUTCFullYear does not.
  const date = new Date(0)
  date.setUTCFullYear(year, monthIndex, day)
  if (date.getUTCDate() !== day) return undefined
  return date.setUTCHours(hour, minute, second)
}
