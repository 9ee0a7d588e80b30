import { createFetch } from '@ratepact/client'
import { pace } from '@ratepact/client/undici'
import { Agent, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { fakeServer, respond } from './fake.js'
import { serve, until } from './http.js'

const policy = { 'ratelimit-policy': '"c";q=2;qu="concurrent-requests"' }
const places = 2

/** Counts a call until its answer has ended, and refuses those above the limit. */
async function counting(end: (response: { end(text: string): unknown }) => void) {
  const count = { now: 0, most: 0, refused: 0 }
  const server = await serve((_seen, response) => {
    if (count.now >= places) {
      count.refused += 1
      response.writeHead(429, { ...policy, ratelimit: '"c";r=0', 'retry-after': '1' }).end()
      return
    }
    count.now += 1
    count.most = Math.max(count.most, count.now)
    response.writeHead(200, { ...policy, ratelimit: `"c";r=${places - count.now}` }).write('head ')
    let over = false
    const leave = (): void => {
      if (!over) count.now -= 1
      over = true
    }
    response.on('close', leave)
    end({
      end: (text) => {
        leave()
        response.end(text)
      },
    })
  })
  return { server, count }
}

const later = (response: { end(text: string): unknown }): void =>
  void setTimeout(() => response.end('tail'), 30)

async function all(stream: ReadableStream<string>): Promise<string> {
  const reader = stream.getReader()
  let text = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
  return text
}

const ways: Record<string, (answer: Response) => Promise<string>> = {
  text: (answer) => answer.text(),
  'a reader': async ({ body }) => {
    const reader = body?.getReader()
    let text = ''
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      text += new TextDecoder().decode(part.value)
    return text
  },
  pipeThrough: ({ body }) => all((body as ReadableStream<BufferSource>).pipeThrough(new TextDecoderStream())),
  pipeTo: async ({ body }) => {
    const { readable, writable } = new TextDecoderStream()
    const [text] = await Promise.all([all(readable), (body as ReadableStream<BufferSource>).pipeTo(writable)])
    return text
  },
  iteration: async ({ body }) => {
    let text = ''
    for await (const part of body as unknown as AsyncIterable<Uint8Array>)
      text += new TextDecoder().decode(part)
    return text
  },
}

describe('a limit on calls in progress is kept where answers stream', () => {
  for (const [way, read] of Object.entries(ways)) {
    it(`and are read by ${way}`, async () => {
      const { server, count } = await counting(later)
      const api = createFetch()
      const calls = Array.from({ length: 9 }, async () => read(await api(server.url)))
      expect(await Promise.all(calls)).toEqual(Array(9).fill('head tail'))
      expect(count).toEqual({ now: 0, most: places, refused: 0 })
    })
  }

  it('by undici', async () => {
    const { server, count } = await counting(later)
    const agent = new Agent()
    onTestFinished(() => agent.destroy())
    const dispatcher = agent.compose(pace())
    const calls = Array.from({ length: 9 }, async () =>
      (await request(server.url, { dispatcher })).body.text(),
    )
    expect(await Promise.all(calls)).toEqual(Array(9).fill('head tail'))
    expect(count).toEqual({ now: 0, most: places, refused: 0 })
  })

  it.each<readonly [string, (answer: Response, stop: AbortController) => unknown]>([
    ['cancelled', (answer) => answer.body?.cancel()],
    [
      'left by its reader',
      async ({ body }) => {
        for await (const _part of body as unknown as AsyncIterable<Uint8Array>) break
      },
    ],
    [
      'stopped by its signal',
      (answer, stop) => {
        const ended = answer.text().catch(() => {})
        stop.abort()
        return ended
      },
    ],
  ])('and a body that is %s gives its place back', async (_way, leave) => {
    const { server } = await counting(() => {})
    const api = createFetch()
    for (let call = 0; call < 4; call += 1) {
      const stop = new AbortController()
      await leave(await api(server.url, { signal: stop.signal }), stop)
    }
    expect(server.seen).toHaveLength(4)
  })

  it('and a body that nobody reads holds its place for some seconds alone, one that is slow for as long as it takes', async () => {
    const bodies: ReadableStreamDefaultController[] = []
    const { clock, sent, fetch } = fakeServer(
      () =>
        new Response(new ReadableStream({ start: (controller) => void bodies.push(controller) }), {
          headers: { ...policy, ratelimit: '"c";r=1' },
        }),
    )
    const api = createFetch({ fetch, clock })
    const url = 'http://api.test/'
    const slow = (await clock.runUntil(api(url))).text()
    const unread = await clock.runUntil(api(url))
    const beganMs = clock.now()
    const third = await clock.runUntil(api(url))
    expect(clock.now() - beganMs).toBe(5000)
    expect(unread.bodyUsed).toBe(false)
    const fourth = api(url)
    await third.body?.cancel()
    await clock.runUntil(fourth)
    expect(clock.now() - beganMs).toBe(5000)
    bodies[0]?.close()
    expect(await slow).toBe('')
    await clock.runUntil(api(url))
    expect(clock.now() - beganMs).toBe(5000)
    expect(sent).toHaveLength(5)
  })

  it('and a short answer, or one without a body, that nobody reads holds nothing', async () => {
    for (const answer of [
      () => respond(200, { ...policy, ratelimit: '"c";r=1', 'content-length': '4' }),
      () => respond(204, { ...policy, ratelimit: '"c";r=1' }),
    ]) {
      const { clock, fetch } = fakeServer(answer)
      const api = createFetch({ fetch, clock })
      const startMs = clock.now()
      for (let call = 0; call < 5; call += 1) await clock.runUntil(api('http://api.test/'))
      expect(clock.now()).toBe(startMs)
    }
  })

  it('and a call behind those waits for as long as it may, whatever is known of their ends', async () => {
    const { server } = await counting((response) => void setTimeout(() => response.end('tail'), 200))
    const api = createFetch({ maxWaitSeconds: 2 })
    const answers = [await api(server.url), await api(server.url)]
    const texts = answers.map((answer) => answer.text())
    const third = api(server.url)
    await until(() => api.queue.waiting === 1)
    expect(await (await third).text()).toBe('head tail')
    await Promise.all(texts)
  })
})
