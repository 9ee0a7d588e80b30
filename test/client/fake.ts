import { Readable } from 'node:stream'
import { type HandClock, handClock } from './clock.js'

/** A send that a fake server got, and when. */
export interface Sent {
  readonly input: unknown
  readonly init: RequestInit
  readonly atMs: number
}

export interface FakeServer {
  readonly clock: HandClock
  readonly sent: readonly Sent[]
  readonly fetch: (input: unknown, init?: RequestInit) => Promise<Response>
}

/** A server without a network, on a clock that the test moves; answers take `delayMs` of it. */
export function fakeServer(answer: (number: number, sent: Sent) => Response, delayMs = 0): FakeServer {
  const clock = handClock()
  const sent: Sent[] = []
  return {
    clock,
    sent,
    async fetch(input, init = {}): Promise<Response> {
      const one = { input, init, atMs: clock.now() }
      sent.push(one)
      const number = sent.length
      if (delayMs > 0) await new Promise<void>((resolve) => clock.setTimeout(resolve, delayMs))
      return answer(number, one)
    },
  }
}

export function respond(status: number, headers: Record<string, string> = {}, body = 'text'): Response {
  return new Response(status === 204 || status === 304 ? null : body, { status, headers })
}

/** An answer as node-fetch has it, whose body is a stream of Node. */
export function nodeAnswer(status: number, headers: Record<string, string> = {}): Response {
  const answer = respond(status, headers)
  Object.defineProperty(answer, 'body', { value: Readable.from([Buffer.from('text')]) })
  return answer
}

/** The time from each send to the next. */
export function gaps(sent: readonly { readonly atMs: number }[]): number[] {
  return sent.slice(1).map((one, index) => one.atMs - (sent[index]?.atMs ?? 0))
}
