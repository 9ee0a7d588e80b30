import { spawn } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type ClientEvent, createFetch } from '@ratepact/client'
import { attributesOf, eventName, explain } from '@ratepact/client/diagnostics'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fakeServer, respond } from './fake.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const place = { partition: 'https://api.test:8443 #1', route: 'GET /orders/*' }

describe('a diagnostics channel', () => {
  it('carries the events of its type, of every client, with or without onEvent', async () => {
    const heard: [unknown, unknown][] = []
    const hear = (event: unknown, name: unknown): unknown => heard.push([name, event])
    for (const type of ['refused', 'answered']) {
      subscribe(`ratepact:client:${type}`, hear)
      onTestFinished(() => void unsubscribe(`ratepact:client:${type}`, hear))
    }
    const told: ClientEvent[] = []
    for (const onEvent of [undefined, (event: ClientEvent) => told.push(event)]) {
      const { clock, fetch } = fakeServer((number) =>
        number === 1 ? respond(429, { 'retry-after': '5' }) : respond(200),
      )
      await clock.runUntil(createFetch({ fetch, clock, onEvent })('http://api.test/'))
    }
    const names = ['ratepact:client:refused', 'ratepact:client:answered']
    expect(heard.map(([name]) => name)).toEqual([...names, ...names])
    const events = heard.map(([, event]) => event)
    expect(events.slice(0, 2)).toEqual(events.slice(2))
    expect(told.filter(({ type }) => type !== 'retrying' && type !== 'waiting')).toEqual(events.slice(2))
  })
})

describe('an event in words', () => {
  const cases: [Partial<ClientEvent>, string][] = [
    [
      { type: 'waiting', reason: 'limit', policy: 'burst', queued: 37, waitSeconds: 1.2 },
      '37 calls wait because the limit "burst" leaves nothing now; as far as is known the first may go in 1.2 s',
    ],
    [
      { type: 'waiting', reason: 'answer', queued: 1 },
      '1 call waits because an answer that is to come tells what is left',
    ],
    [
      { type: 'waiting', reason: 'refusal', policy: 'day', queued: 2, waitSeconds: 30 },
      '2 calls wait because the server refused a call by the limit "day" and asked to wait; as far as is known the first may go in 30 s',
    ],
    [{ type: 'refused', status: 429, attempt: 1 }, 'refused with 429 at attempt 1'],
    [
      { type: 'retrying', status: 503, attempt: 2, waitSeconds: 0.12345 },
      'attempt 2 follows in 0.123 s, since the answer was 503',
    ],
    [{ type: 'retrying', attempt: 2, waitSeconds: 1 }, 'attempt 2 follows in 1 s, since no answer came'],
    [
      { type: 'gave-up', attempts: 3, reason: 'attempts' },
      'given up after 3 attempts: it was sent as often as maxAttempts allows',
    ],
    [
      { type: 'answered', status: 200, attempts: 2, waitedSeconds: 5 },
      'answered 200 at attempt 2, after waiting 5 s',
    ],
    [
      { type: 'field-ignored', field: 'RateLimit', reason: 'it is no List' },
      'RateLimit was not used: it is no List',
    ],
  ]
  for (const [about, words] of cases) {
    it(words, () => {
      expect(explain({ ...about, ...place } as ClientEvent)).toBe(
        `${place.partition} ${place.route}: ${words}`,
      )
    })
  }
})

describe('an event for OpenTelemetry', () => {
  it('has the names of its conventions', () => {
    const event: ClientEvent = { type: 'gave-up', attempts: 3, reason: 'max-wait', ...place }
    expect(eventName(event)).toBe('ratepact.client.gave_up')
    expect(attributesOf(event)).toEqual({
      'http.request.method': 'GET',
      'server.address': 'api.test',
      'server.port': 8443,
      'url.template': '/orders/*',
      'ratepact.attempts': 3,
      'ratepact.reason': 'max-wait',
    })
    const answered: ClientEvent = { type: 'answered', status: 200, attempts: 1, waitedSeconds: 0.5, ...place }
    expect(attributesOf(answered)).toMatchObject({
      'http.response.status_code': 200,
      'ratepact.wait.duration': 0.5,
    })
  })

  it('is made of a route of the user’s own too', () => {
    const event: ClientEvent = { type: 'refused', status: 429, attempt: 1, ...place, route: 'search' }
    expect(attributesOf(event)).toMatchObject({ 'url.template': 'search' })
    expect(attributesOf(event)).not.toHaveProperty('http.request.method')
  })
})

const program = `
  import { createFetch } from '@ratepact/client'
  const limits = { ratelimit: '"burst";r=0;t=1', 'ratelimit-policy': '"burst";q=5;w=5' }
  const api = createFetch({ fetch: async () => new Response('ok', { headers: limits }), maxWaitSeconds: 0.5 })
  await Promise.allSettled([api('http://api.test/'), api('http://api.test/')])
`

describe('RATEPACT_DEBUG', () => {
  it('=1 makes a client say on standard error why calls wait, and nothing else does', async () => {
    const run = async (RATEPACT_DEBUG: string): Promise<string> => {
      const args = ['--import', 'tsx', '--conditions=@ratepact/source', '--input-type=module', '-e', program]
      const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, RATEPACT_DEBUG } })
      let errors = ''
      child.stderr.on('data', (chunk) => {
        errors += chunk
      })
      await once(child, 'close')
      return errors
    }
    const said = await run('1')
    expect(said).toContain('ratepact: http://api.test #1 GET /: 1 call waits because an answer')
    expect(said).toContain('given up after 0 attempts: its wait would be longer than maxWaitSeconds allows')
    expect(await run('0')).toBe('')
  })
})
