import { type ClientEvent, createFetch, type DialectOptions, type ResetMeaning } from '@ratepact/client'
import { describe, expect, it } from 'vitest'
import { fakeServer, respond } from './fake.js'
import { inTurn, serve } from './http.js'

const url = 'http://api.test/'
const date = 'Mon, 30 Nov 2026 12:00:00 GMT'
const noon = 1_796_040_000
const legacy = { policy: 'legacy', unit: 'requests', waitSeconds: 0 }
const minute = { ...legacy, quota: 100, windowSeconds: 60, available: 50, effectiveWindowSeconds: 30 }

type Fields = Record<string, string>

const triple = (prefix: string, limit: string, remaining: string, reset?: string): Fields => ({
  [`${prefix}ratelimit-limit`]: limit,
  [`${prefix}ratelimit-remaining`]: remaining,
  ...(reset === undefined ? {} : { [`${prefix}ratelimit-reset`]: reset }),
})

async function known(headers: Fields, dialect?: DialectOptions) {
  const events: ClientEvent[] = []
  const { clock, fetch } = fakeServer(() => respond(200, headers))
  const api = createFetch({ fetch, clock, dialect, onEvent: (event) => events.push(event) })
  expect((await api(url)).status).toBe(200)
  const ignored = events.flatMap((event) => (event.type === 'field-ignored' ? [event.field] : []))
  return { limits: api.limits(url), ignored }
}

describe('dialects are told by their shape', () => {
  it.each<readonly [name: string, headers: Fields, limit: object]>([
    [
      'draft 11',
      { ratelimit: '"a";r=50;t=30', 'ratelimit-policy': '"a";q=100;w=60' },
      { ...minute, policy: 'a' },
    ],
    [
      'draft 12',
      { ratelimit: '"a";a=50;w=30', 'ratelimit-policy': '"a";q=100;w=60' },
      { ...minute, policy: 'a' },
    ],
    ['draft 07', { ratelimit: 'limit=100, remaining=50, reset=30', 'ratelimit-policy': '100;w=60' }, minute],
    ['draft 06', { ...triple('', '100', '50', '30'), 'ratelimit-policy': '10;w=1, 100;w=60' }, minute],
    ['draft 03', triple('', '100, 10;w=1, 100;w=60', '50', '30'), minute],
    [
      'draft 06 without policies',
      triple('', '100', '50', '30'),
      { ...legacy, quota: 100, available: 50, effectiveWindowSeconds: 30 },
    ],
    ['the remaining units alone', { 'ratelimit-remaining': '50' }, { ...legacy, available: 50 }],
  ])('%s', async (_name, headers, limit) => {
    expect(await known(headers)).toEqual({ limits: [limit], ignored: [] })
  })

  it('named limits go before all others', async () => {
    const headers = {
      ...triple('', '100', '50', '30'),
      ...triple('x-', '100', '40', '30'),
      ratelimit: '"a";r=7;t=30',
      'ratelimit-policy': '"a";q=10;w=60',
    }
    const { limits } = await known(headers, { xRateLimitReset: 'delta-seconds' })
    expect(limits).toEqual([{ ...minute, policy: 'a', quota: 10, available: 7 }])
  })
})

describe('X-RateLimit', () => {
  it.each([
    ['seconds since 1970', String(noon + 30)],
    ['milliseconds since 1970', String(noon * 1000 + 29_001)],
    ['seconds from now', '30'],
    ['a date', 'Mon, 30 Nov 2026 12:00:30 GMT'],
  ])('is told by its size where nobody says what it counts: %s', async (_what, reset) => {
    for (const dialect of [undefined, {}, { xRateLimitReset: undefined }]) {
      const { clock, sent, fetch } = fakeServer((number) =>
        respond(200, { date, ...triple('x-', '100', number === 1 ? '0' : '99', reset) }),
      )
      const api = createFetch({ fetch, clock, dialect })
      await api(url)
      expect(api.limits(url)).toMatchObject([{ policy: 'legacy', quota: 100, available: 0 }])
      await clock.runUntil(api(url))
      expect(sent[1]?.atMs).toBeGreaterThanOrEqual(30_000)
      expect(sent[1]?.atMs).toBeLessThan(31_000)
    }
  })

  it.each<readonly [ResetMeaning, reset: string]>([
    ['epoch-seconds', String(noon + 30)],
    ['epoch-seconds', `${noon + 29}.5`],
    ['epoch-milliseconds', String(noon * 1000 + 29_001)],
    ['delta-seconds', '30'],
    ['http-date', 'Mon, 30 Nov 2026 12:00:30 GMT'],
  ])('as %s holds calls until %s', async (xRateLimitReset, reset) => {
    const { clock, sent, fetch } = fakeServer((number) =>
      respond(200, { date, ...triple('x-', '100', number === 1 ? '0' : '99', reset) }),
    )
    const api = createFetch({ fetch, clock, dialect: { xRateLimitReset } })
    await api(url)
    expect(api.limits(url)).toMatchObject([{ policy: 'legacy', quota: 100, available: 0 }])
    await clock.runUntil(api(url))
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(30_000)
    expect(sent[1]?.atMs).toBeLessThan(31_000)
  })

  it('is counted from the machine’s own clock where the answer has no Date', async () => {
    const { clock, sent, fetch } = fakeServer(() =>
      respond(200, triple('x-', '100', '0', String(Math.ceil(Date.now() / 1000) + 30))),
    )
    const api = createFetch({ fetch, clock, dialect: { xRateLimitReset: 'epoch-seconds' } })
    await api(url)
    await clock.runUntil(api(url))
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(25_000)
    expect(sent[1]?.atMs).toBeLessThan(32_000)
  })
})

describe('a number of requests alone', () => {
  it.each<Fields>([
    { 'ratelimit-limit': '10' },
    { 'x-ratelimit-limit': '10' },
    { 'ratelimit-limit': '10', 'ratelimit-remaining': 'some' },
    { 'ratelimit-policy': '"a";q=10' },
  ])('holds nobody back, since no time belongs to it: %j', async (headers) => {
    const { clock, fetch } = fakeServer(() => respond(200, headers))
    const api = createFetch({ fetch, clock, dialect: { xRateLimitReset: 'delta-seconds' } })
    for (let call = 0; call < 30; call += 1) await api(url)
    expect(clock.now()).toBe(0)
  })
})

const dialects: Readonly<Record<string, (remaining: number, reset: number) => Fields>> = {
  'draft 07': (remaining, reset) => ({ ratelimit: `limit=10, remaining=${remaining}, reset=${reset}` }),
  'draft 06': (remaining, reset) => triple('', '10', String(remaining), String(reset)),
  'draft 03': (remaining, reset) => triple('', '10, 10;w=60', String(remaining), String(reset)),
  'X-RateLimit': (remaining, reset) => ({
    date,
    ...triple('x-', '10', String(remaining), String(noon + reset)),
  }),
}
const dialect = { xRateLimitReset: 'epoch-seconds' } as const

describe.each(Object.entries(dialects))('%s', (_name, headers) => {
  it('on a 429 without Retry-After says how long to stay away', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      number === 1 ? respond(429, headers(0, 7)) : respond(200),
    )
    const api = createFetch({ fetch, clock, dialect })
    expect((await clock.runUntil(api(url))).status).toBe(200)
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(7000)
    expect(sent[1]?.atMs).toBeLessThan(9000)
  })

  it('gives way to Retry-After, be it shorter or longer', async () => {
    for (const seconds of [2, 20]) {
      const { clock, sent, fetch } = fakeServer((number) =>
        number === 1 ? respond(429, { ...headers(0, 7), 'retry-after': String(seconds) }) : respond(200),
      )
      const api = createFetch({ fetch, clock, dialect })
      await clock.runUntil(api(url))
      expect(sent[1]?.atMs).toBeGreaterThanOrEqual(seconds * 1000)
    }
  })

  it.each([
    ['out of a cache', 200, { age: '60' }],
    ['that redirects', 302, { location: '/there' }],
    ['that says 304', 304, {}],
  ])('is not read from an answer %s', async (_what, status, more) => {
    const { clock, sent, fetch } = fakeServer(() => respond(status, { ...headers(0, 600), ...more }))
    const api = createFetch({ fetch, clock, dialect })
    await api(url, { redirect: 'manual' })
    await api(url, { redirect: 'manual' })
    expect(sent).toHaveLength(2)
    expect(clock.now()).toBe(0)
    expect(api.limits(url)).toEqual([])
  })

  it('is not read from an answer of another origin', async () => {
    const other = await serve(inTurn({ headers: headers(0, 600) }))
    const server = await serve((_seen, response) => response.writeHead(302, { location: other.url }).end())
    const api = createFetch({ dialect, maxWaitSeconds: 1 })
    await api(server.url)
    expect(api.limits(server.url)).toEqual([])
  })

  it('that leaves nothing for ever ends in an error that says so, and is believed for ten minutes', async () => {
    const { clock, sent, fetch } = fakeServer((number) =>
      number === 1 ? respond(200, headers(0, 900_000_000)) : respond(200, headers(9, 60)),
    )
    const api = createFetch({ fetch, clock, dialect })
    await api(url)
    await expect(api(url)).rejects.toMatchObject({ name: 'RateLimitError', reason: 'max-wait' })
    expect(clock.now()).toBe(0)
    await clock.advance(600_001)
    expect((await clock.runUntil(api(url))).status).toBe(200)
    expect(sent).toHaveLength(2)
  })

  it('that leaves nothing and says it is over already leads to a call that asks, not to a storm', async () => {
    const { clock, sent, fetch } = fakeServer(() => respond(200, headers(0, 0)), 10)
    const api = createFetch({ fetch, clock, dialect, maxWaitSeconds: 600 })
    await clock.runUntil(api(url))
    await clock.runUntil(Promise.all([api(url), api(url), api(url)]))
    expect(sent).toHaveLength(4)
    expect(clock.now()).toBeGreaterThan(1000)
    expect(clock.now()).toBeLessThan(300_000)
  })
})

describe('hostile values', () => {
  const bad = [
    'soon',
    '-1',
    '1e9',
    '0x10',
    'NaN',
    'Infinity',
    '1, 2, x',
    '"5"',
    '9'.repeat(16),
    '9'.repeat(400),
  ]
  const rows = bad.map((value) => [value.slice(0, 20), value] as const)

  it.each(rows)('%s for what remains holds nobody back, and is told', async (_shown, value) => {
    for (const prefix of ['', 'x-']) {
      const { limits, ignored } = await known({ date, ...triple(prefix, '10', value, '30') }, dialect)
      expect(limits).toEqual([])
      expect(ignored).toEqual([`${prefix.toUpperCase()}RateLimit-Remaining`])
    }
    expect((await known({ ratelimit: `limit=10, remaining=${value}, reset=30` })).ignored).toContain(
      'RateLimit',
    )
  })

  it.each(rows)('%s for the reset makes what remains unusable, and is told', async (_shown, value) => {
    for (const prefix of ['', 'x-']) {
      const { limits, ignored } = await known({ date, ...triple(prefix, '10', '0', value) }, dialect)
      expect(limits).toEqual([])
      expect(ignored).toHaveLength(1)
    }
  })

  it('a Date from the other end of time moves a timestamp no further than a block is believed', async () => {
    for (const odd of ['Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', 'yesterday']) {
      const { clock, sent, fetch } = fakeServer((number) =>
        respond(200, { date: odd, ...triple('x-', '10', number === 1 ? '0' : '9', String(noon + 30)) }),
      )
      const api = createFetch({ fetch, clock, dialect, maxWaitSeconds: 600 })
      await api(url)
      await clock.runUntil(api(url))
      expect(sent).toHaveLength(2)
      expect(clock.now()).toBeLessThanOrEqual(601_000)
    }
  })

  it('a timestamp where a delay belongs is taken for what it is', async () => {
    const { clock, sent, fetch } = fakeServer(() =>
      respond(200, { date, ...triple('', '10', '0', String(noon + 5)) }),
    )
    const api = createFetch({ fetch, clock })
    await api(url)
    await clock.runUntil(api(url))
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(5000)
    expect(sent[1]?.atMs).toBeLessThan(7000)
  })

  it('megabytes and thousands of members are not kept, in any field', async () => {
    const megabyte = '1, '.repeat(350_000)
    const thousands = Array.from({ length: 4000 }, (_, index) => `${index + 1};w=${index + 1}`).join(', ')
    for (const value of [megabyte, thousands]) {
      for (const name of ['limit', 'remaining', 'reset']) {
        const headers = { ...triple('', '10', '5', '9'), [`ratelimit-${name}`]: value }
        const { limits } = await known({ ...headers, 'ratelimit-policy': value })
        expect(limits.length).toBeLessThanOrEqual(1)
      }
    }
    expect((await known({ ratelimit: thousands, 'ratelimit-policy': thousands })).limits).toEqual([])
  })

  it('the largest numbers there are neither break the arithmetic nor park the client', async () => {
    const most = '9'.repeat(15)
    for (const headers of [
      {
        ratelimit: `limit=${most}, remaining=${most}, reset=${most}`,
        'ratelimit-policy': `${most};w=${most}`,
      },
      { ...triple('', most, most, most), 'ratelimit-policy': `${most};w=${most}` },
      { date, ...triple('x-', most, most, most) },
    ]) {
      const server = await serve(inTurn({ headers: headers as Fields }))
      const api = createFetch({ dialect, maxWaitSeconds: 5 })
      const answers = await Promise.all(Array.from({ length: 20 }, () => api(server.url)))
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
      expect(api.limits(server.url)).toMatchObject([{ waitSeconds: 0 }])
    }
  })
})

describe('the dialect option', () => {
  it.each([
    [null, 'Expected dialect to be an object, got null'],
    ['github', 'Expected dialect to be an object, got "github"'],
    [{ reset: 'epoch' }, 'Expected dialect to have only xRateLimitReset, read, got reset'],
    [
      { xRateLimitReset: 'epoch' },
      'Expected dialect.xRateLimitReset to be one of epoch-seconds, epoch-milliseconds, delta-seconds, http-date, got "epoch"',
    ],
    [{ xRateLimitReset: null }, 'http-date, got null'],
    [{ read: 'all' }, 'Expected dialect.read to be a function, got "all"'],
  ])('%j is refused', (given, message) => {
    expect(() => createFetch({ dialect: given as never })).toThrow(message)
  })
})

describe('a reader of one’s own', () => {
  it('that returns nonsense fails the call in words that name it', async () => {
    const nonsense: [said: unknown, message: string][] = [
      [5, 'dialect.read() to be an object, got 5'],
      [Promise.resolve({}), 'dialect.read() to be an object, got an object'],
      [{ limits: 'x' }, 'dialect.read().limits to be an array, got "x"'],
      [{ limits: [null] }, 'dialect.read().limits[0] to be an object, got null'],
      [{ limits: [{ available: 1 }] }, 'dialect.read().limits[0].policy to be a string, got undefined'],
      [{ limits: [{ policy: 'a', available: '5' }] }, 'dialect.read().limits[0].available to be a number'],
      [{ policies: [{}] }, 'dialect.read().policies[0].policy to be a string'],
      [{ waitMs: 'x' }, 'dialect.read().waitMs to be a number'],
    ]
    for (const [said, message] of nonsense) {
      const { clock, fetch } = fakeServer(() => respond(200))
      const api = createFetch({ fetch, clock, dialect: { read: () => said as never } })
      await expect(api(url)).rejects.toThrow(`Expected ${message}`)
      expect(api.queue.inFlight).toBe(0)
    }
    const harmless = [undefined, null, { waitMs: Number.NaN }, { limits: [{ policy: 'a', available: -1 }] }]
    for (const said of harmless) {
      const { clock, fetch } = fakeServer((number) => respond(number === 1 ? 429 : 200))
      const api = createFetch({ fetch, clock, dialect: { read: () => said as never } })
      expect((await clock.runUntil(api(url))).status).toBe(200)
    }
  })
})
