import { createFetch } from '@ratepact/client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fakeServer, respond } from './fake.js'

const url = 'http://api.test/orders'
const named = (init: RequestInit | undefined) => new Headers(init?.headers).get('ratepact-instance')

describe('a client that tells its instance', () => {
  it('sends one random name of 64 bits with each of its calls, and another client another', async () => {
    const { sent, clock, fetch } = fakeServer(() => respond(200))
    const [one, other] = [1, 2].map(() => createFetch({ fetch, clock, tellInstance: true }))
    await one?.(url)
    await one?.(new Request(url, { headers: { accept: 'text/plain' } }))
    await one?.(url, { method: 'POST', headers: [['accept', 'text/plain']] })
    await other?.(url)
    const [first, second, third, fourth] = sent.map(({ init }) => named(init))
    expect(first).toMatch(/^[0-9a-f]{16}$/)
    expect([second, third]).toEqual([first, first])
    expect(fourth).not.toBe(first)
    expect(new Headers(sent[1]?.init.headers).get('accept')).toBe('text/plain')
    expect(new Headers(sent[2]?.init.headers).get('accept')).toBe('text/plain')
  })

  it('leaves a name that the call has', async () => {
    const { sent, clock, fetch } = fakeServer(() => respond(200))
    await createFetch({ fetch, clock, tellInstance: true })(url, { headers: { 'ratepact-instance': 'mine' } })
    expect(named(sent[0]?.init)).toBe('mine')
  })

  it('tells nobody by default, and in a page its own origin alone', async () => {
    const { sent, clock, fetch } = fakeServer(() => respond(200))
    await createFetch({ fetch, clock })(url)
    Object.assign(globalThis, { location: new URL('http://page.test/app') })
    onTestFinished(() => void Reflect.deleteProperty(globalThis, 'location'))
    const api = createFetch({ fetch, clock, tellInstance: true })
    await api(url)
    await api('http://page.test/orders')
    expect(sent.map(({ init }) => named(init) !== null)).toEqual([false, false, true])
  })

  it('refuses anything but true or false', () => {
    expect(() => createFetch({ tellInstance: 'yes' as never })).toThrow(
      'Expected tellInstance to be true or false, got "yes"',
    )
  })
})
