import type { Answer } from './answer.js'
import type { Stay } from './hold.js'
import { atEnd, type NodeEnding } from './node-end.js'

/** As much of Node's response as tells what was sent. */
export interface NodeSent extends NodeEnding {
  readonly statusCode: number
  readonly headersSent: boolean
  readonly writableFinished?: boolean
  write?(chunk: unknown, ...rest: unknown[]): unknown
  end(chunk?: unknown, ...rest: unknown[]): unknown
}

/** For how long a request stays that is answered by a Node response: until that is complete or cannot be. */
export function createNodeStay(response: NodeSent, countsBytes: boolean): Stay {
  // Node itself leaves the body out of an answer to HEAD.
  const bytes = countsBytes && response.req?.method !== 'HEAD' ? countBytes(response) : () => 0
  return {
    onEnd: (listener) => atEnd(response, listener),
    answer(): Answer {
      const { statusCode: status, writableFinished, stream } = response
      if (!response.headersSent) return { bytes: 0, complete: false }
      const complete = writableFinished === true && !stream?.rstCode
      return { status, bytes: hasBody(status) ? bytes() : 0, complete }
    },
  }
}

/** Whatever is handed over besides, Node sends none with these. */
function hasBody(status: number): boolean {
  return status !== 204 && status !== 304
}

/** Counts what is written from now on. */
function countBytes(response: NodeSent): () => number {
  const { write, end } = response
  let bytes = 0
  let ending = false
  response.write = function (...args: unknown[]) {
    // Over HTTP/2, the end writes its piece itself.
    if (!ending) bytes += sizeOf(args[0], args[1])
    return write?.apply(this, args as [unknown])
  }
  response.end = function (...args: unknown[]) {
    bytes += sizeOf(args[0], args[1])
    ending = true
    return end.apply(this, args)
  }
  return () => bytes
}

function sizeOf(chunk: unknown, encoding: unknown): number {
  if (typeof chunk !== 'string') return chunk instanceof Uint8Array ? chunk.byteLength : 0
  return bufferOf().byteLength(chunk, typeof encoding === 'string' ? encoding : 'utf8')
}

/** Of Node, and of whatever else has its responses. */
function bufferOf(): { byteLength(text: string, encoding: string): number } {
  return (globalThis as unknown as { Buffer: ReturnType<typeof bufferOf> }).Buffer
}
