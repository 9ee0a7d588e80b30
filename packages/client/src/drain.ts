import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'

/** Up to here a refusal is kept, for the case that its call cannot be sent again after all. */
const mostKept = 65_536
/**
 * Up to here it is read and thrown away, which costs less than another connection. (undici even opens two
 * for each body that is cancelled.)
 */
const mostRead = 1_048_576
const mostMs = 1000

/** A refusal put aside while its call waits to be sent again. */
export interface Aside {
  /** The refusal, to be returned after all; undefined when it was too large or too slow to keep. */
  take(): Response | undefined
  /** It is not needed any more. */
  drop(): void
}

/**
 * Reads a refusal to its end, so that its connection can be used again, and keeps what was read in case
 * that the call cannot be sent again. What is long or slow is cancelled, which costs the connection.
 */
export function setAside(response: Response, clock: Clock): Aside {
  if (response.body === null || response.body === undefined || response.bodyUsed) {
    return { take: () => response, drop: () => {} }
  }
  const copy = response.clone()
  const reader = response.body.getReader()
  let kept = true
  const stopKeeping = (): void => {
    kept = false
    cancel(copy.body)
  }
  const giveUp = (): void => {
    stopKeeping()
    cancel(reader)
  }
  const alarm = new Alarm(clock, giveUp)
  alarm.set(clock.now() + mostMs)
  const draining = drain(reader, stopKeeping).catch(giveUp)
  void draining.finally(() => alarm.clear())
  return {
    take(): Response | undefined {
      alarm.clear()
      cancel(reader)
      return kept ? copy : undefined
    },
    drop: () => cancel(copy.body),
  }
}

/** Reads to the end, or until it was too much. */
async function drain(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  stopKeeping: () => void,
): Promise<void> {
  for (let bytes = 0; bytes <= mostRead; ) {
    const { done, value } = await reader.read()
    if (done) return
    bytes += value.byteLength
    if (bytes > mostKept) stopKeeping()
  }
  await reader.cancel()
}

function cancel(body: { cancel(): Promise<void> } | null): void {
  // A stream that has failed already, or is being read by someone else, needs no cancelling.
  body?.cancel().catch(() => {})
}
