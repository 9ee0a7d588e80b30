import { type ClientOptions, createFetch } from '@ratepact/client'
import { expect, it } from 'vitest'
import { fakeServer, respond } from '../fake.js'

const url = 'http://api.test/a'
const stated = { 'ratelimit-policy': '"a";q=10;w=300', ratelimit: '"a";r=8;t=300' }

/** A server that states a limit in its first two answers, and a client that has had both. */
async function start(
  later: (number: number) => Response = () => respond(200),
  options: ClientOptions = {},
  first = () => respond(200, stated),
) {
  const server = fakeServer((number) => (number <= 2 ? first() : later(number)))
  const { clock, fetch } = server
  const api = createFetch({ fetch, clock, random: () => 0.5, maxWaitSeconds: 3600, ...options })
  for (const _ of [1, 2]) await clock.runUntil(api(url))
  return { ...server, api }
}

type Started = Awaited<ReturnType<typeof start>>

/** A call each minute. */
async function go({ api, clock }: Pick<Started, 'api' | 'clock'>, minutes: number, to = url) {
  for (let minute = 0; minute < minutes; minute += 1) {
    await clock.advance(60_000)
    await clock.runUntil(api(to))
  }
}

/** In seconds. */
async function timeOfFifty({ api, clock, sent }: Started): Promise<number> {
  const [before, atMs] = [sent.length, clock.now()]
  await clock.runUntil(Promise.all(Array.from({ length: 50 }, () => api(url))))
  expect(sent.length - before).toBe(50)
  return (clock.now() - atMs) / 1000
}

it('a limit is forgotten when answers come without it for longer than its window', async () => {
  const server = await start()
  await go(server, 6)
  expect(server.api.limits(url)).toMatchObject([{ policy: 'a' }])
  await go(server, 1)
  expect(server.api.limits(url)).toEqual([])
  expect(await timeOfFifty(server)).toBeLessThan(1)
})

it('calls that wait for it go as soon as it is', async () => {
  const server = await start()
  await go(server, 5)
  expect(await timeOfFifty(server)).toBeLessThan(400)
})

it('it is learnt again when it is stated again', async () => {
  const server = await start((number) => respond(200, number > 10 ? stated : {}))
  await go(server, 8)
  expect(server.api.limits(url)).toEqual([])
  await go(server, 1)
  expect(server.api.limits(url)).toMatchObject([{ policy: 'a', quota: 10 }])
})

it('one of a short window, which may be stated now and then only, is kept for a minute', async () => {
  const short = { 'ratelimit-policy': '"a";q=10;w=2', ratelimit: '"a";r=8;t=2' }
  const server = await start(undefined, {}, () => respond(200, short))
  await go(server, 1)
  await server.clock.advance(59_000)
  await server.clock.runUntil(server.api(url))
  expect(server.api.limits(url)).toMatchObject([{ policy: 'a' }])
  await server.clock.advance(2000)
  await server.clock.runUntil(server.api(url))
  expect(server.api.limits(url)).toEqual([])
})

it('one without a window is kept for as long as its last answer said', async () => {
  const server = await start(undefined, {}, () => respond(200, { ratelimit: '"a";r=8;t=200' }))
  await go(server, 3)
  expect(server.api.limits(url)).toMatchObject([{ policy: 'a' }])
  await go(server, 3)
  expect(server.api.limits(url)).toEqual([])
})

it('a limit is kept while some answers state it', async () => {
  const server = await start((number) => respond(200, number % 5 === 0 ? stated : {}))
  await go(server, 40)
  expect(server.api.limits(url)).toMatchObject([{ policy: 'a' }])
})

it.each<readonly [string, (number: number) => Response]>([
  ['failures', () => respond(500)],
  ['answers that are not there', () => respond(404)],
  ['redirects', () => respond(304)],
  ['answers out of a cache', () => respond(200, { ...stated, age: '7' })],
  ['malformed statements', () => respond(200, { ratelimit: 'a;;' })],
])('a limit is kept through %s, which are not the service being silent', async (_what, later) => {
  const server = await start(later)
  await go(server, 20)
  expect(server.api.limits(url)).toMatchObject([{ policy: 'a' }])
})

it('a limit is kept while only routes that never stated it are called', async () => {
  const server = await start()
  await go(server, 20, 'http://api.test/b')
  expect(server.api.limits(url)).toMatchObject([{ policy: 'a' }])
})

it('a limit that refusals alone state is kept: successes do not miss it', async () => {
  const refusal = () => respond(429, { ...stated, ratelimit: '"a";r=0;t=1', 'retry-after': '1' })
  const server = await start(undefined, {}, refusal)
  await go(server, 20)
  expect(server.api.limits(url)).toMatchObject([{ policy: 'a', quota: 10 }])
})

it('a limit that was given beforehand is kept', async () => {
  const policies = [{ policy: 'a', quota: 10, windowSeconds: 300, unit: 'requests' }]
  const server = await start(undefined, { policies })
  await go(server, 20)
  expect(server.api.limits(url)).toMatchObject([{ policy: 'a', quota: 10 }])
})
