import { createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { beforeAll, describe, expect, it } from 'vitest'

/** The client as a page or a worker gets it: one script without modules. */
let script = ''
beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: "export * from '@ratepact/client'",
      resolveDir: new URL('.', import.meta.url).pathname,
    },
    conditions: ['@ratepact/source'],
    platform: 'browser',
    format: 'iife',
    globalName: 'ratepact',
    bundle: true,
    write: false,
  })
  script = outputFiles[0]?.text ?? ''
})

/** What every such runtime has; everything else of Node is absent. */
function globals(answers: (number: number) => Response) {
  const timers = new Map<number, ReturnType<typeof setTimeout>>()
  const sent: { input: unknown; init: RequestInit | undefined }[] = []
  let last = 0
  return {
    timers,
    sent,
    own: {
      ...{ AbortController, AbortSignal, Blob, DOMException, FormData, Headers, Request, Response, URL },
      ...{ URLSearchParams, TextDecoder, ReadableStream, crypto, performance },
      // A number, with neither unref nor ref.
      setTimeout(run: () => void, ms: number): number {
        last += 1
        const id = last
        const timer = setTimeout(() => {
          timers.delete(id)
          run()
        }, ms)
        timers.set(id, timer)
        return id
      },
      clearTimeout(id: number): void {
        clearTimeout(timers.get(id))
        timers.delete(id)
      },
      fetch: async (input: unknown, init?: RequestInit): Promise<Response> => {
        sent.push({ input, init })
        return answers(sent.length)
      },
    },
  }
}

const refusal = { 'retry-after': '1', 'retry-after-ms': '20', ratelimit: '"a";r=0;t=1;ratepact-t-ms=20' }

const program = `
  (async () => {
    const events = []
    const api = ratepact.createFetch({
      onEvent: (event) => events.push(event.type),
      retry: { statuses: [429, 500], idempotencyKey: true, classify: async (response, peek) => (await peek()) === 'limited' ? 'limited' : undefined },
    })
    const { signal } = new AbortController()
    const answers = await Promise.all([1, 2, 3].map((number) =>
      api('https://api.test/orders/' + number, { method: 'POST', body: 'x', signal, rateLimit: { fairnessKey: 'a' } })))
    const texts = await Promise.all(answers.map((answer) => answer.text()))
    const { waiting, inFlight } = api.queue
    await api.close()
    const after = await api('https://api.test/').catch((error) => error.reason)
    return { texts, events, waiting, inFlight, after, limits: api.limits('https://api.test/orders/1', { method: 'POST' }).length }
  })()
`

const kinds: Record<string, object> = {
  'like Deno': {
    Deno: { version: {} },
    process: new Proxy({}, { get: denied }),
    navigator: { userAgent: 'Deno/2' },
  },
  'like Cloudflare Workers': { navigator: { userAgent: 'Cloudflare-Workers' } },
  'like a page': { location: new URL('https://api.test/'), document: { baseURI: 'https://api.test/app' } },
  'with a process that has no built-in modules': { process: { env: {} } },
  'without FinalizationRegistry': { FinalizationRegistry: undefined },
}

/** Environment variables are asked for at the price of a question to the user. */
function denied(_: object, name: string | symbol): undefined {
  if (name === 'env') throw new Error('Requires env access')
  return undefined
}

describe('the client runs unchanged', () => {
  for (const [kind, more] of Object.entries(kinds)) {
    it(`where globals are ${kind}`, async () => {
      const { own, timers, sent } = globals((number) => {
        if (number === 2) return new Response('later', { status: 429, headers: refusal })
        if (number === 3) return new Response('limited', { headers: refusal })
        return new Response('ok')
      })
      const context = createContext({ ...own, ...more })
      runInContext(script, context)
      const told = (await runInContext(program, context)) as { events: string[] }
      expect({ ...told, events: [] }).toEqual({
        ...{ texts: ['ok', 'ok', 'ok'], events: [], waiting: 0, inFlight: 0, after: 'closed', limits: 1 },
      })
      expect([...told.events].sort()).toEqual(
        [...Array(3).fill('answered'), ...Array(2).fill('refused'), ...Array(2).fill('retrying')]
          .concat(told.events.filter((type) => type === 'waiting'))
          .sort(),
      )
      expect(told.events).toContain('waiting')
      expect(sent).toHaveLength(5)
      expect(new Headers(sent[0]?.init?.headers).get('idempotency-key')).toMatch(/^[0-9a-f]{32}$/)
      expect(timers.size).toBe(0)
    })
  }

  it('with no module of Node in it', () => {
    expect(script).not.toMatch(/(require|import)\(?\s*["']node:/)
  })
})
