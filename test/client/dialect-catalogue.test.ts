import { readFileSync } from 'node:fs'
import { type ClientEvent, createFetch } from '@ratepact/client'
import {
  catalogue,
  type Dialect,
  dialects,
  github,
  graphqlRefusals,
  prisjakt,
} from '@ratepact/client/dialects'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { handClock } from './clock.js'
import { type Sample, samples } from './dialect-samples.js'
import { fakeServer, respond } from './fake.js'

/** What is known after such an answer, and how long the next call waits. */
async function learnt(
  url: string,
  status: number,
  headers: Readonly<Record<string, string>>,
  known: readonly Dialect[] = catalogue,
) {
  const { clock, sent, fetch } = fakeServer((number) =>
    respond(number === 1 ? status : 200, number === 1 ? headers : {}),
  )
  const events: ClientEvent[] = []
  const api = createFetch({
    ...{ fetch, clock, dialect: dialects(known), maxWaitSeconds: 3600, random: () => 0 },
    onEvent: (event) => events.push(event),
  })
  const answer = await api(url, { rateLimit: { maxWaitSeconds: 0 } })
  expect(answer.status).toBe(status)
  const limits = api.limits(url).map(({ waitSeconds: _, ...limit }) => limit)
  await clock.runUntil(api(url))
  const refused = events.some(({ type }) => type === 'refused')
  return { limits, refused, waitedSeconds: Math.floor((sent[1]?.atMs ?? Number.NaN) / 10) / 100 }
}

describe('What APIs send', () => {
  it.each(samples.map((sample) => [sample.api, sample] as const))('%s', async (_api, sample) => {
    const { status = 200, waits = 0 } = sample
    const known = [...catalogue, { ...prisjakt, hosts: ['api.prisjakt.nu'] }]
    const { limits, refused, waitedSeconds } = await learnt(sample.url, status, sample.headers, known)
    expect(limits).toMatchObject(sample.limits)
    expect(limits).toHaveLength(sample.limits.length)
    expect(refused).toBe(status !== 200)
    expect(waitedSeconds).toBeGreaterThanOrEqual(Math.floor(waits * 100) / 100)
    expect(waitedSeconds).toBeLessThanOrEqual(waits + 1)
  })
})

it('The table of the documentation has a row for each of them', () => {
  const page = readFileSync(new URL('../../docs/dialects.md', import.meta.url), 'utf8')
  const table = page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .join('\n')
  for (const { api } of samples) expect(table).toContain(api.split(/, (?:on|a) /)[0])
  for (const { name } of catalogue) if (name !== 'selling-partner') expect(table).toContain(`\`${name}\``)
})

describe('A dialect', () => {
  const secondary = { 'retry-after': '60' }

  it('of a host is spoken there and nowhere else', async () => {
    const forbidden = { refused: true, waitedSeconds: 60 }
    expect(await learnt('https://api.github.com/user', 403, secondary)).toMatchObject(forbidden)
    const other = { refused: false, waitedSeconds: 0 }
    for (const host of ['github.com', 'api.github.com.test', 'xapi.github.com', 'api.github.com:8443'])
      expect(await learnt(`https://${host}/user`, 403, secondary)).toMatchObject(other)
    const mine = [{ ...github, hosts: ['GitHub.example.com'] }]
    expect(await learnt('https://github.example.com/user', 403, secondary, mine)).toMatchObject(forbidden)
  })

  it('takes no other 403 for a refusal', async () => {
    const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '9' }
    const { refused, waitedSeconds } = await learnt('https://api.github.com/user', 403, headers)
    expect({ refused, waitedSeconds }).toEqual({ refused: false, waitedSeconds: 0 })
  })

  it('sends a refusal with its own status again', async () => {
    const { clock, sent, fetch } = fakeServer((number) => respond(number === 1 ? 403 : 200, secondary))
    const api = createFetch({ fetch, clock, dialect: dialects() })
    const answer = await clock.runUntil(api('https://api.github.com/user', { method: 'POST' }))
    expect(answer.status).toBe(200)
    expect(sent[1]?.atMs).toBeGreaterThanOrEqual(60_000)
  })

  it('of one’s own goes beside those of the catalogue', async () => {
    const acme: Dialect = {
      name: 'acme',
      hosts: ['*.acme.test'],
      limits: [
        { name: 'calls', quota: 'Acme-Max', used: 'Acme-Used', reset: 'Acme-Again', resetIn: 'milliseconds' },
        {
          name: 'exports',
          left: 'Acme-Exports-Left',
          window: 'Acme-Exports-Every',
          quota: 20,
          refill: 'window',
        },
      ],
      read: (fields) =>
        fields.get('acme-closed') === undefined ? [] : [{ name: 'hours', left: 0, resetMs: 700 }],
    }
    const known = [acme, ...catalogue]
    const headers = { 'acme-max': '10', 'acme-used': '10', 'acme-again': '1500' }
    expect(await learnt('https://eu.acme.test/', 200, headers, known)).toMatchObject({
      limits: [{ policy: 'calls', quota: 10, available: 0 }],
      waitedSeconds: 1.5,
    })
    const more = { 'acme-exports-left': '3', 'acme-exports-every': '1h', 'acme-closed': 'yes' }
    expect(await learnt('https://eu.acme.test/', 200, more, known)).toMatchObject({
      limits: [
        { policy: 'exports', quota: 20, windowSeconds: 3600, available: 3 },
        { policy: 'hours', available: 0 },
      ],
      waitedSeconds: 0.7,
    })
    expect((await learnt('https://acme.test/', 200, more, known)).limits).toEqual([])
    const { headers: octet, url, limits } = samples.find(({ api }) => api === 'GitHub') as Sample
    expect((await learnt(url, 200, octet, known)).limits).toMatchObject(limits)
  })

  it('without hosts is tried at any', async () => {
    const known: readonly Dialect[] = [
      { name: 'mine', limits: [{ name: 'calls', left: 'mine-left', reset: 'mine-reset' }] },
    ]
    const headers = { 'mine-left': '0', 'mine-reset': '4' }
    expect(await learnt('https://a.test/', 200, headers, known)).toMatchObject({ waitedSeconds: 4 })
  })

  it('gives way to the standard’s own field, and to nothing less', async () => {
    const url = 'https://api.github.com/user'
    const old = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9' }
    const both = { ...old, ratelimit: '"a";r=5;t=3', 'ratelimit-policy': '"a";q=5;w=3' }
    expect((await learnt(url, 200, both)).limits).toMatchObject([{ policy: 'a', available: 5 }])
    const draft6 = { ...old, 'ratelimit-limit': '60', 'ratelimit-remaining': '7', 'ratelimit-reset': '3' }
    expect((await learnt(url, 200, draft6)).limits).toMatchObject([{ policy: 'core', available: 0 }])
  })

  it('leaves Retry-After its word, longer or shorter', async () => {
    const headers = { 'retry-after': '3', 'x-retry-in': '9s', 'retry-after-long': '9' }
    expect(await learnt('https://a.test/', 429, headers)).toMatchObject({ waitedSeconds: 3 })
  })

  it('for each route keeps an exhausted endpoint from holding the others', async () => {
    const spent = { 'x-rate-limit-limit': '9', 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': '50' }
    const left = { ...spent, 'x-rate-limit-remaining': '8' }
    const { clock, sent, fetch } = fakeServer((_number, { input }) =>
      respond(200, String(input).endsWith('/tweets') ? spent : left),
    )
    const api = createFetch({ fetch, clock, dialect: dialects() })
    for (const path of ['tweets', 'users', 'users', 'tweets'])
      await clock.runUntil(api(`https://api.x.com/${path}`))
    expect(sent.map(({ atMs }) => atMs < 50_000)).toEqual([true, true, true, false])
  })

  it('leads past a bucket of 60 a minute without a refusal', async () => {
    let full = { units: 60, atMs: 0 }
    const { clock, fetch } = fakeServer(() => {
      const nowMs = clock.now()
      const units = Math.min(60, full.units + (nowMs - full.atMs) / 1000)
      full = { units: units >= 1 ? units - 1 : units, atMs: nowMs }
      const reset = `${Math.ceil((60 - full.units) * 1000)}ms`
      return respond(units >= 1 ? 200 : 429, {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': String(Math.floor(full.units)),
        'x-ratelimit-reset-requests': reset,
      })
    }, 20)
    const refusals: string[] = []
    const onEvent = ({ type }: ClientEvent) => (type === 'refused' ? refusals.push(type) : 0)
    const api = createFetch({ fetch, clock, dialect: dialects(), maxWaitSeconds: 600, onEvent })
    await clock.runUntil(
      Promise.all(Array.from({ length: 100 }, () => api('https://api.openai.com/v1/models'))),
    )
    expect(refusals.length).toBeLessThanOrEqual(1)
    expect(clock.now()).toBeLessThan(45_000)
  })
})

it('A dialect’s own function that fails ends the call with its error, and lets the answer go', async () => {
  let cancelled = false
  const body = new ReadableStream({
    cancel: () => {
      cancelled = true
    },
  })
  const fails = () => {
    throw new SyntaxError('mine')
  }
  const api = createFetch({
    fetch: async () => new Response(body),
    dialect: dialects([{ name: 'a', limits: [], read: fails }]),
  })
  await expect(api('https://a.test/')).rejects.toThrow('mine')
  expect(cancelled).toBe(true)
  expect(api.queue.inFlight).toBe(0)
})

describe('Absurd and hostile values', () => {
  const fieldNames = [...new Set(samples.flatMap(({ headers }) => Object.keys(headers)))]
  const urls = [...new Set(samples.map(({ url }) => url))]
  const value = fc.oneof(
    fc.constantFrom(...samples.flatMap(({ headers }) => Object.values(headers))),
    fc.constantFrom(
      '-1',
      '1e308',
      'NaN',
      '9'.repeat(15),
      '9'.repeat(400),
      '0',
      '0/0',
      '1/0',
      '5:0',
      '{}',
      '{"remaining":1e99}',
      '[',
      '1,2',
      ';;==,,',
    ),
    fc.string({ maxLength: 40 }).map((text) => text.replace(/[^\x20-\x7e]/g, '')),
    fc.nat().map(String),
  )

  it('never make an error, a limit that is none, or an endless wait', () => {
    const { read } = dialects()
    const nothingHeld = {
      'X-RateLimit-Remaining': '100',
      ...{ 'X-RateLimit-Replenish-Rate': '1', 'X-RateLimit-Burst-Capacity': '0' },
    }
    const headers = fc.dictionary(fc.constantFrom(...fieldNames), value, { maxKeys: 8 })
    const status = fc.constantFrom(200, 400, 403, 429, 503)
    fc.assert(
      fc.property(headers, fc.constantFrom(...urls), status, (given, url, status) => {
        const said = read?.({ status, headers: new Headers(given), host: new URL(url).host, route: 'GET /' })
        for (const { available, effectiveWindowSeconds = 0, effectiveWindowMs = 0 } of said?.limits ?? []) {
          expect(Number.isSafeInteger(available) && available >= 0).toBe(true)
          expect(effectiveWindowSeconds).toBeGreaterThanOrEqual(0)
          expect(effectiveWindowMs).toBeLessThanOrEqual(effectiveWindowSeconds * 1000)
        }
        for (const { policy, quota, windowSeconds = 1, ratePerSecond = 1 } of said?.policies ?? []) {
          expect(policy).toMatch(/^[\x21-\x7e]{1,64}$/)
          expect(Number.isSafeInteger(quota) && quota >= 0).toBe(true)
          expect(windowSeconds).toBeGreaterThan(0)
          expect(Number.isFinite(ratePerSecond) && ratePerSecond >= 0).toBe(true)
        }
        expect(said?.limits?.length ?? 0).toBeLessThanOrEqual(60)
        expect(said?.waitMs ?? 0).toBeLessThanOrEqual(10 * 365 * 86_400_000)
      }),
      { numRuns: 3000, examples: [[nothingHeld, 'https://api.test/', 200]] },
    )
  })

  it('leave the client as it was, whatever a server sends', async () => {
    const clock = handClock()
    const [given] = fc.sample(
      fc.array(fc.dictionary(fc.constantFrom(...fieldNames), value), { minLength: 60, maxLength: 60 }),
      { seed: 7, numRuns: 1 },
    )
    let number = 0
    const fetch = async () => respond(200, given?.[number++] ?? {})
    const api = createFetch({ fetch, clock, dialect: dialects(), maxWaitSeconds: 600 })
    for (const [index] of (given ?? []).entries()) {
      const answer = await clock.runUntil(api(urls[index % urls.length] ?? ''))
      expect(answer.status).toBe(200)
    }
    expect(number).toBe(60)
  })

  it('never lose an answer to the name of a field, whichever it is', async () => {
    const words = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', 'then']
    for (const word of words.flatMap((each) => [each, `a-${each}`])) {
      const headers = [`X-RateLimit-Remaining-${word}`, `X-RateLimit-${word}-Remaining`, `${word}`]
      for (const name of [...headers, `Anthropic-RateLimit-${word}-Remaining`, `Retry-After-${word}`]) {
        for (const target of ['http://api.test/', 'https://api.openai.com/v1/models']) {
          const { clock, fetch } = fakeServer(() => respond(200, { [name]: '5', 'x-ratelimit-reset': '9s' }))
          const answer = await createFetch({ fetch, clock, dialect: dialects() })(target)
          expect([name, await answer.text()]).toEqual([name, 'text'])
        }
      }
    }
  })

  it('never lose an answer that cannot be looked through', async () => {
    const fails = () => {
      throw new Error('no names today')
    }
    for (const keys of [fails, () => [['x-ratelimit-remaining', '0']], () => 5]) {
      const clock = handClock()
      const fetch = async () => {
        const answer = respond(200)
        Object.defineProperty(answer.headers, 'keys', { value: keys })
        return answer
      }
      const answer = await createFetch({ fetch, clock, dialect: dialects() })('https://api.openai.com/')
      expect(await answer.text()).toBe('text')
    }
  })

  it('in thousands of fields are read no further than some', () => {
    const headers = new Headers()
    for (let index = 0; index < 5000; index += 1) headers.set(`x-ratelimit-remaining-${index}`, '0')
    expect(dialects().read?.({ status: 200, headers, host: 'a.test', route: 'GET /' })?.limits).toHaveLength(
      16,
    )
  })

  it('in a field of megabytes are not looked at', () => {
    const headers = new Headers({
      'x-ratelimit': `{"remaining":0,"name":"${'a'.repeat(2 ** 21)}"}`,
      'x-app-rate-limit': '1:1,'.repeat(2 ** 19),
    })
    expect(
      dialects().read?.({ status: 200, headers, host: 'a.test', route: 'GET /' })?.limits,
    ).toBeUndefined()
  })
})

describe('A clock that is wrong by hours', () => {
  const hours = [-30, -5, 5, 30]

  it.each(
    hours.flatMap((off) => [
      [off, 'X-RateLimit-Reset', { 'x-ratelimit-reset': (at: number) => String(at / 1000) }] as const,
      [
        off,
        'RateLimit-Reset',
        { 'ratelimit-reset': (at: number) => String(at / 1000), 'ratelimit-remaining': () => '0' },
      ] as const,
      [
        off,
        'a date of ISO 8601',
        { 'x-ratelimit-reset': (at: number) => new Date(at).toISOString() },
      ] as const,
      [off, 'milliseconds', { 'x-ratelimit-reset': (at: number) => String(at) }] as const,
      [off, 'Retry-After as a date', { 'retry-after': (at: number) => new Date(at).toUTCString() }] as const,
    ]),
  )('%i here: %s counts from the server’s Date', async (off, name, fields) => {
    const serverMs = Math.floor(Date.now() / 1000) * 1000 + off * 3_600_000
    const said = Object.entries(fields).map(([field, at]) => [field, at(serverMs + 40_000)])
    const remaining = { 'x-ratelimit-remaining': '0', 'x-ratelimit-limit': '9' }
    const headers = {
      date: new Date(serverMs).toUTCString(),
      ...(name === 'RateLimit-Reset' ? {} : remaining),
      ...Object.fromEntries(said),
    }
    const { waitedSeconds } = await learnt('https://a.test/', name.startsWith('Retry') ? 429 : 200, headers)
    expect(waitedSeconds).toBeGreaterThanOrEqual(40)
    expect(waitedSeconds).toBeLessThan(41)
  })

  it('here is all there is to go by where the server tells no time', async () => {
    const headers = {
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': new Date(Date.now() + 40_000).toISOString(),
    }
    const { waitedSeconds } = await learnt('https://a.test/', 200, headers)
    expect(waitedSeconds).toBeGreaterThan(30)
    expect(waitedSeconds).toBeLessThan(41)
  })
})

describe('A refusal in the body of GraphQL', () => {
  const url = 'https://shop.myshopify.com/admin/api/graphql.json'
  const json = { 'content-type': 'application/json; charset=utf-8' }
  const body = (code: string) =>
    JSON.stringify({ data: null, errors: [{ message: 'no', extensions: { code } }] })

  async function call(answers: readonly Response[]) {
    const { clock, sent, fetch } = fakeServer(
      (number) => answers[number - 1] ?? respond(200, json, '{"data":1}'),
    )
    const api = createFetch({
      fetch,
      clock,
      dialect: dialects(),
      retry: { classify: graphqlRefusals },
    })
    const answer = await clock.runUntil(api(url, { method: 'POST', body: '{}' }))
    return { sends: sent.length, text: await answer.text() }
  }

  it.each([200, 400])('of status %i is sent again', async (status) => {
    for (const code of ['THROTTLED', 'RATELIMITED'])
      expect(await call([respond(status, json, body(code))])).toEqual({ sends: 2, text: '{"data":1}' })
    const typed = JSON.stringify({ errors: [{ type: 'RATE_LIMITED' }] })
    expect(await call([respond(status, json, typed)])).toMatchObject({ sends: 2 })
  })

  it.each([
    [200, json, body('OTHER')],
    [200, json, '{"errors":7}'],
    [200, json, '{"errors":[null, 7]}'],
    [200, json, 'null'],
    [200, json, '{'],
    [200, { 'content-type': 'text/plain' }, body('THROTTLED')],
    [500, json, body('THROTTLED')],
  ])('is not seen in %i %j %s', async (status, headers, text) => {
    expect(await call([respond(status, headers, text)])).toEqual({ sends: 1, text })
  })
})

describe('A dialect that makes no sense is refused', () => {
  const row = { name: 'a', left: 'b' }
  it.each<readonly [unknown, string]>([
    ['github', 'Expected dialects to be an array, got "github"'],
    [[null], 'Expected dialects[0] to be an object, got null'],
    [[{ limits: [] }], 'Expected dialects[0].name to be a string, got undefined'],
    [[{ name: 'a' }], 'Expected dialects[0].limits to be an array, got undefined'],
    [
      [{ name: 'a', limits: [], host: 'a' }],
      'Expected dialects[0] to have only name, hosts, limits, refusals, read, beforeStandard, got host',
    ],
    [
      [{ name: 'a', limits: [], hosts: ['https://a.test/'] }],
      'Expected dialects[0].hosts[0] to be a host, as in "api.example.com" or "*.example.com", got "https://a.test/"',
    ],
    [
      [{ name: 'a', limits: [], refusals: [200] }],
      'Expected dialects[0].refusals[0] to be a whole number from 400 to 599, got 200',
    ],
    [[{ name: 'a', limits: [], read: 7 }], 'Expected dialects[0].read to be a function, got 7'],
    [[{ name: 'a', limits: [{ ...row, resets: 'c' }] }], 'got resets'],
    [
      [{ name: 'a', limits: [{ ...row, quota: -1 }] }],
      'Expected dialects[0].limits[0].quota to be a number from 0 to 1000000000000, got -1',
    ],
    [
      [{ name: 'a', limits: [{ ...row, resetIn: 'hours' }] }],
      'Expected dialects[0].limits[0].resetIn to be one of seconds, milliseconds, got "hours"',
    ],
    [
      [{ name: 'a', limits: [{ ...row, refill: 'tap' }] }],
      'Expected dialects[0].limits[0].refill to be one of bucket, window, log, counter, got "tap"',
    ],
    [
      [{ name: 'a', limits: [{ ...row, reset: 5 }] }],
      'Expected dialects[0].limits[0].reset to be the name of a field, got 5',
    ],
    [
      [{ name: 'a', limits: [{ ...row, left: 'Acme Left' }] }],
      'Expected dialects[0].limits[0].left to be the name of a field, got "Acme Left"',
    ],
    [
      [{ name: 'a', limits: [{ ...row, quota: '' }] }],
      'Expected dialects[0].limits[0].quota to be the name of a field, got ""',
    ],
  ])('%j', (known, message) => {
    expect(() => dialects(known as readonly Dialect[])).toThrow(message)
  })
})
