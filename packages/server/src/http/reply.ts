import type { Denial } from './denial.js'
import { setDenialHead, setDenialHeaders } from './denial-head.js'
import { errorOf } from './error.js'
import { type Change, type Changeable, changeHead } from './node-change.js'

/** As much of Fastify's reply as is needed to answer. */
export interface Reply {
  statusCode: number
  readonly sent: boolean
  readonly raw: object
  getHeader(name: string): number | string | string[] | undefined
  header(name: string, value: string): unknown
  removeHeader(name: string): unknown
  send(payload?: unknown): unknown
  hijack(): unknown
}

/** Begins a refusal on a reply. What a reply keeps by itself until it is sent is not yet in the head of its answer. */
export function changeReply(reply: Reply, status: number): Change {
  const head: Changeable = {
    get statusCode() {
      return reply.statusCode
    },
    set statusCode(value) {
      reply.statusCode = value
    },
    get headersSent() {
      return reply.sent
    },
    getHeader: (name) => reply.getHeader(name),
    setHeader: (name, value) => reply.header(name, value),
    removeHeader: (name) => void reply.removeHeader(name),
  }
  return changeHead(head, status)
}

/**
 * Answers with a refusal, through all that Fastify does with a reply; or lets the user answer, by sending something or
 * by returning it. Where that fails, nothing of the refusal stays.
 */
export async function answerReply(
  reply: Reply,
  denial: Denial,
  own: (() => unknown) | undefined,
): Promise<void> {
  const change = changeReply(reply, denial.status)
  try {
    if (own === undefined) {
      setDenialHead(change, denial)
      reply.send(denial.body)
      return
    }
    setDenialHeaders(change, denial.headers)
    // A reply waits for itself to be sent.
    const payload = await own()
    if (payload !== undefined && payload !== reply && !reply.sent) reply.send(payload)
  } catch (error) {
    change.undo()
    throw errorOf('rateLimit', error)
  }
}
