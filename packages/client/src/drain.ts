import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'
import type { Attempted } from './attempt.js'
import { cancelBody, isNodeStream } from './cancel.js'
import { mostMs, readSome } from './read-some.js'
import { split } from './split.js'

/** Up to here the body of a refusal is kept, for the case that its call cannot be sent again after all. */
export const mostKept = 65_536
/**
 * Up to here it is read and thrown away, which costs less than another connection. (undici even opens two
 * for each body that is cancelled.)
 */
export const mostRead = 1_048_576

/** A refusal, or a failure, put aside while its call waits to be sent again. */
export interface Aside {
  /** The refusal, to be returned after all; its body is empty when that was too large or too slow to keep. A failure is thrown. */
  take(): Attempted
  /** It is not needed any more. */
  drop(): void
}

/**
 * Reads a refusal to its end, so that its connection can be used again, and keeps what was read in case
 * that the call cannot be sent again. What is long or slow is cancelled, which costs the connection.
 */
export function setAside(answer: Attempted, clock: Clock): Aside {
  const halves = split(answer.response)
  if (halves === undefined) return { take: () => answer, drop: () => drainNode(answer.response.body, clock) }
  const { copy, reader } = halves
  let kept = true
  const stopKeeping = (): void => {
    kept = false
    cancelBody(copy.body)
  }
  const reading = readSome(reader, clock, mostRead, (_, bytes) => bytes > mostKept && stopKeeping())
  void reading.then((whole) => whole || stopKeeping())
  return {
    take(): Attempted {
      cancelBody(reader)
      return { response: kept ? copy : headOf(copy), controller: answer.controller }
    },
    drop: () => cancelBody(copy.body),
  }
}

/** What is left of a refusal without its body. */
function headOf({ status, statusText, headers, url }: Response): Response {
  const head = new Response(null, { status, statusText, headers })
  return Object.defineProperty(head, 'url', { value: url })
}

/** A stream of Node cannot be read twice: it is kept as it is, and what is not needed flows away, for a second at most. */
function drainNode(body: unknown, clock: Clock): void {
  if (!isNodeStream(body)) return
  const alarm = new Alarm(clock, () => cancelBody(body))
  alarm.set(clock.now() + mostMs)
  for (const event of ['end', 'close', 'error']) body.on(event, () => alarm.clear())
  body.resume()
}

/** An attempt that got no answer. */
export function failed(error: unknown): Aside {
  return {
    take(): never {
      throw error
    },
    drop: () => {},
  }
}
