import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'
import { cancelBody } from './cancel.js'
import { split } from './split.js'

const mostBytes = 65_536
const mostMs = 1000

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
  const alarm = new Alarm(clock, () => cancelBody(reader))
  alarm.set(clock.now() + mostMs)
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (let bytes = 0; bytes < mostBytes; ) {
      const { done, value } = await reader.read()
      if (done) break
      bytes += value.byteLength
      text += decoder.decode(value, { stream: true })
    }
  } catch {
    // What failed to come is not there; whoever reads the answer meets the failure.
  }
  alarm.clear()
  cancelBody(reader)
  return { response: copy, text }
}
