import { parseHttpDate, parseRetryAfter, parseRetryAfterMs } from '@ratepact/contract'
import { afterEach, describe, expect, test } from 'vitest'

const now = new Date('2026-11-30T12:00:00Z')
const zone = process.env.TZ

afterEach(() => {
  if (zone === undefined) delete process.env.TZ
  else process.env.TZ = zone
})

describe('Retry-After', () => {
  test.each([
    ['120', 120],
    ['0', 0],
    ['007', 7],
    [' \t7\t ', 7],
    ['5, 10', 10],
    ['10,5', 10],
    ['5 ,\t10 , 7', 10],
    ['2147483648', 2147483648],
    ['2147483649', 2147483648],
    ['9'.repeat(20), 2147483648],
    ['9'.repeat(400), 2147483648],
    ['Mon, 30 Nov 2026 12:00:10 GMT', 10],
    ['Monday, 30-Nov-26 12:01:00 GMT', 60],
    ['Mon Nov 30 12:00:30 2026', 30],
    ['Tue Dec  1 12:00:00 2026', 86_400],
    ['Tue, 30 Nov 2026 12:00:10 GMT', 10],
    ['Mon, 30 Nov 2026 11:59:00 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 2147483648],
    ['Sun, 01 Jan 0001 00:00:00 GMT', 0],
  ])('%j is %d seconds', (value, seconds) => {
    expect(parseRetryAfter(value, { now })).toBe(seconds)
  })

  test.each([
    '',
    ' ',
    '-5',
    '+5',
    '-0',
    '1.5',
    '5.0',
    '1e3',
    '0x10',
    '5s',
    '12abc',
    'soon',
    'NaN',
    'Infinity',
    '٣',
    '５',
    '5;q=1',
    '5,',
    ',5',
    '5,,6',
    '5, -1',
    '5, Mon, 30 Nov 2026 12:00:10 GMT',
    'Mon, 30 Nov 2026 12:00:10 GMT, Mon, 30 Nov 2026 12:00:20 GMT',
    '5\n',
    '5 10',
    '\u00a05',
    '2026-11-30T12:00:10Z',
    'mon, 30 nov 2026 12:00:10 gmt',
    'Mon, 30 Nov 2026 12:00:10 UTC',
    'Mon, 30 Nov 2026 12:00:10 +0000',
    'Mon, 30 Nov 2026 12:00:10',
    'Mon, 31 Nov 2026 12:00:10 GMT',
    'Mon,  30 Nov 2026 12:00:10 GMT',
  ])('%j is nothing', (value) => {
    expect(parseRetryAfter(value, { now })).toBeUndefined()
  })

  test.each([[null], [undefined], [[]]])('%o is nothing', (value) => {
    expect(parseRetryAfter(value, { now })).toBeUndefined()
  })

  test('takes the longest of several lines', () => {
    expect(parseRetryAfter(['5', '10', '7'], { now })).toBe(10)
  })

  test('counts a date from the answer’s own Date where that can be read', () => {
    const value = 'Mon, 30 Nov 2026 12:00:10 GMT'
    expect(parseRetryAfter(value, { now, date: 'Mon, 30 Nov 2026 12:00:05 GMT' })).toBe(5)
    expect(parseRetryAfter(value, { now, date: ' Mon Nov 30 12:00:05 2026 ' })).toBe(5)
    expect(parseRetryAfter(value, { now, date: 'Mon, 30 Nov 2026 12:00:15 GMT' })).toBe(0)
    expect(parseRetryAfter(value, { now, date: 'today' })).toBe(10)
    expect(parseRetryAfter('120', { now, date: 'Mon, 30 Nov 2026 12:00:05 GMT' })).toBe(120)
  })

  test('rounds part of a second up, so that nobody comes back early', () => {
    expect(
      parseRetryAfter('Mon, 30 Nov 2026 12:00:10 GMT', { now: new Date('2026-11-30T12:00:00.001Z') }),
    ).toBe(10)
    expect(
      parseRetryAfter('Mon, 30 Nov 2026 12:00:10 GMT', { now: new Date('2026-11-30T12:00:09.999Z') }),
    ).toBe(1)
  })

  test('counts from the current time unless told otherwise', () => {
    const seconds = parseRetryAfter(new Date(Date.now() + 3_600_000).toUTCString())
    expect(seconds).toBeGreaterThan(3_500)
    expect(seconds).toBeLessThanOrEqual(3_600)
  })

  test('is nothing, not NaN, when the given time is none', () => {
    const invalid = new Date(Number.NaN)
    expect(parseRetryAfter('Mon, 30 Nov 2026 12:00:10 GMT', { now: invalid })).toBeUndefined()
    expect(parseRetryAfter('Monday, 30-Nov-26 12:00:10 GMT', { now: invalid })).toBeUndefined()
    expect(parseRetryAfter('120', { now: invalid })).toBe(120)
  })
})

describe('retry-after-ms', () => {
  test.each([
    ['340', 340],
    ['0', 0],
    ['340.5', 340.5],
    [' 12 ', 12],
    ['340, 500', 500],
    ['9'.repeat(30), 2147483648000],
    ['9'.repeat(400), 2147483648000],
  ])('%j is %d milliseconds', (value, ms) => {
    expect(parseRetryAfterMs(value)).toBe(ms)
  })

  test.each([
    '',
    '-1',
    '+1',
    '.5',
    '5.',
    '1e3',
    '0x10',
    'NaN',
    'Infinity',
    '5ms',
    '1,5,',
    '1_000',
    null,
    undefined,
  ])('%j is nothing', (value) => {
    expect(parseRetryAfterMs(value)).toBeUndefined()
  })
})

describe('an HTTP-date', () => {
  const instant = Date.UTC(1994, 10, 6, 8, 49, 37)

  test.each([
    ['UTC', 0],
    ['America/New_York', 300],
    ['Asia/Kolkata', -330],
    ['Pacific/Apia', 660],
  ])('is UTC in all its forms, also in %s', (tz, offset) => {
    process.env.TZ = tz
    expect(new Date(instant).getTimezoneOffset()).toBe(offset)
    expect(parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT', now)).toBe(instant)
    expect(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', now)).toBe(instant)
    expect(parseHttpDate('Sun Nov  6 08:49:37 1994', now)).toBe(instant)
  })

  test('reads second 60 as the first instant of the next minute', () => {
    expect(parseHttpDate('Thu, 31 Dec 2026 23:59:60 GMT')).toBe(Date.UTC(2027, 0, 1))
    expect(parseHttpDate('Thursday, 31-Dec-26 23:59:60 GMT', now)).toBe(Date.UTC(2027, 0, 1))
    expect(parseHttpDate('Thu Dec 31 23:59:60 2026')).toBe(Date.UTC(2027, 0, 1))
  })

  test.each([
    ['the same year', '30-Nov-26', '2026-11-30', 2026],
    ['fifty years ahead to the day', '30-Nov-76', '2026-11-30', 2076],
    ['a day more than fifty years ahead', '01-Dec-76', '2026-11-30', 1976],
    ['far ahead', '06-Nov-94', '2026-11-30', 1994],
    ['over the turn of a century', '05-Jan-10', '2090-06-01', 2110],
    ['before the turn of a century', '05-Jan-99', '2001-06-01', 1999],
    ['29 February of a year that has it', '29-Feb-00', '2060-01-01', 2000],
  ])(
    'takes a two-digit year for the latest that is at most fifty years ahead: %s',
    (_name, day, today, year) => {
      const at = parseHttpDate(`Monday, ${day} 00:00:00 GMT`, new Date(`${today}T00:00:00Z`))
      expect(at === undefined ? at : new Date(at).getUTCFullYear()).toBe(year)
    },
  )

  test('takes a four-digit year below 100 as it stands', () => {
    expect(parseHttpDate('Sat, 01 Jan 0050 00:00:00 GMT')).toBe(Date.parse('0050-01-01T00:00:00Z'))
  })

  test.each([
    'Sun, 31 Feb 2026 00:00:00 GMT',
    'Sun, 29 Feb 2026 00:00:00 GMT',
    'Sun, 00 Nov 2026 00:00:00 GMT',
    'Sun, 32 Jan 2026 00:00:00 GMT',
    'Sun, 06 Nov 2026 24:00:00 GMT',
    'Sun, 06 Nov 2026 23:60:00 GMT',
    'Sun, 06 Nov 2026 23:59:61 GMT',
    'Sun, 6 Nov 2026 00:00:00 GMT',
    'Sun, 06 Nov 26 00:00:00 GMT',
    'Sun, 06 Nov 12026 00:00:00 GMT',
    'Sun, 06 nov 2026 00:00:00 GMT',
    'Sun, 06-Nov-94 08:49:37 GMT',
    'Sunday, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-1994 08:49:37 GMT',
    'Sun Nov 6 08:49:37 1994',
    'Sun Nov  6 08:49:37 1994 GMT',
    'Sun Nov 06 8:49:37 1994',
    ' Sun, 06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT\n',
    'Mon',
    '',
  ])('%j is none', (text) => {
    expect(parseHttpDate(text, now)).toBeUndefined()
  })
})
