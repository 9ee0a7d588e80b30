import { type FieldValue, joinLines, trim } from './field-value.js'

/** Only their first letters are capitals, so none begins elsewhere. */
const months = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const month = '([A-Z][a-z]{2})'
const time = '(\\d\\d):(\\d\\d):(\\d\\d)'
const shortDay = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const longDay = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'

const imfFixdate = new RegExp(`^${shortDay}, (\\d\\d) ${month} (\\d{4}) ${time} GMT$`)
const rfc850 = new RegExp(`^${longDay}, (\\d\\d)-${month}-(\\d\\d) ${time} GMT$`)
const asctime = new RegExp(`^${shortDay} ${month} (\\d\\d| \\d) ${time} (\\d{4})$`)

/**
 * Reads an HTTP-date in any of its three forms (RFC 9110 section 5.6.7), all of them in UTC and to the
 * letter. A wrong day of the week is overlooked, a day that does not exist is not. Second 60 is the
 * first instant of the next minute.
 *
 * @param now decides the century of the form that has a two-digit year: never over 50 years ahead.
 * @returns milliseconds since 1970, or undefined for any other text.
 */
export function parseHttpDate(text: string, now: Date = new Date()): number | undefined {
  const [, month, day, ...rest] = asctime.exec(text) ?? []
  if (month !== undefined) return instant(rest.pop(), month, day, rest)
  const [, date, name = '', year, ...at] = imfFixdate.exec(text) ?? rfc850.exec(text) ?? []
  if (year?.length !== 2) return instant(year, name, date, at)
  const latest = new Date(now)
  latest.setUTCFullYear(latest.getUTCFullYear() + 50)
  const century = Math.floor(latest.getUTCFullYear() / 100) * 100
  const years = [century + Number(year), century - 100 + Number(year)]
  return years
    .map((each) => instant(each, name, date, at))
    .find((each = Number.NaN) => each <= latest.getTime())
}

/**
 * When an answer was made, in milliseconds since 1970: its own `Date`, which cancels the difference
 * between the two clocks, or `now` where that field is missing or unreadable.
 */
export function answeredAt(date: FieldValue, now: Date): number {
  const field = joinLines(date)
  return (field.status === 'read' ? parseHttpDate(trim(field.value), now) : undefined) ?? now.getTime()
}

/** Undefined where there is no such day or time. */
function instant(year: unknown, month: string, day: unknown, time: readonly string[]): number | undefined {
  const [hour = 0, minute = 0, second = 0] = time.map(Number)
  const letters = months.indexOf(month)
  // Date.UTC takes the years 0 to 99 for 1900 to 1999; setUTCFullYear does not.
  const date = new Date(0)
  date.setUTCFullYear(Number(year), letters / 3, Number(day))
  const none = letters < 0 || date.getUTCDate() !== Number(day)
  return none || hour > 23 || minute > 59 || second > 60 ? undefined : date.setUTCHours(hour, minute, second)
}
