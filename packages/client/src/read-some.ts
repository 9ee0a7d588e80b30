import type { Clock } from '@ratepact/contract'
import { Alarm } from './alarm.js'
import { cancelBody } from './cancel.js'

/** So long a body may take that is read for what it is and not for its caller. */
export const mostMs = 1000

/**
 * Reads a body to its end, or until it is more or slower than it may be or fails: what is left is cancelled.
 *
 * @param take is given each part, and how many bytes have come with it
 * @returns whether all of it was read
 */
export async function readSome(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  clock: Clock,
  mostBytes: number,
  take: (part: Uint8Array, bytes: number) => unknown,
): Promise<boolean> {
  let slow = false
  const alarm = new Alarm(clock, () => {
    slow = true
    cancelBody(reader)
  })
  alarm.set(clock.now() + mostMs)
  try {
    for (let bytes = 0; bytes <= mostBytes; ) {
      const { done, value } = await reader.read()
      if (done) return !slow
      bytes += value.byteLength
      take(value, bytes)
    }
  } catch {
    // What failed to come is not there; whoever reads the answer meets the failure.
  } finally {
    alarm.clear()
    cancelBody(reader)
  }
  return false
}
