import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'

/** Up to here it is cheaper to read a body that nobody wants than to open another connection. */
const mostBytes = 65_536
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
  let lost = false
  const giveUp = (): void => {
    lost = true
    cancel(reader)
    cancel(copy.body)
  }
  const alarm = new Alarm(clock, giveUp)
  alarm.set(clock.now() + mostMs)
  const draining = drain(reader).then((small) => (small ? undefined : giveUp()), giveUp)
  void draining.finally(() => alarm.clear())
  return {
    take(): Response | undefined {
      alarm.clear()
      cancel(reader)
      return lost ? undefined : copy
    },
    drop: () => cancel(copy.body),
  }
}

/** @returns whether the end came before too many bytes did */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<boolean> {
  for (let bytes = 0; bytes <= mostBytes; ) {
    const { done, value } = await reader.read()
    if (done) return true
    bytes += value.byteLength
  }
  return false
}

function cancel(body: { cancel(): Promise<void> } | null): void {
  // A stream that has failed already, or is being read by someone else, needs no cancelling.
  body?.cancel().catch(() => {})
}
