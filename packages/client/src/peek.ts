import type { Clock } from '@ratepact/contract'
import { readSome } from './read-some.js'
import { split } from './split.js'

const mostBytes = 65_536

/** An answer that somebody looked into, and what stood there. */
export interface Peeked {
  /** The answer to go on with, its body whole. */
  readonly response: Response
  readonly text: string
}

/** The beginning of a body as text, as far as it comes in time. */
export async function peekAt(response: Response, clock: Clock): Promise<Peeked> {
  const halves = split(response)
  if (halves === undefined) return { response, text: '' }
  const { copy, reader } = halves
  const decoder = new TextDecoder()
  let text = ''
  await readSome(reader, clock, mostBytes, (part, bytes) => {
    const most = part.byteLength - Math.max(0, bytes - mostBytes)
    text += decoder.decode(part.subarray(0, most), { stream: true })
  })
  return { response: copy, text }
}
