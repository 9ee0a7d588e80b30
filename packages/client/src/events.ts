import type { RateLimitReason } from './errors.js'

/** What every event tells: which partition (its origin and a number, never a credential) and which route. */
export interface EventPlace {
  readonly partition: string
  readonly route: string
}

/** What happens inside a client, told to `onEvent`. Times are in seconds. */
export type ClientEvent = EventPlace &
  (
    | {
        /** A call has to wait before it is sent. `waitSeconds` is that of the first in the queue, where known. */
        readonly type: 'waiting'
        readonly queued: number
        readonly waitSeconds?: number
      }
    | {
        /** The server answered that a limit is exhausted. */
        readonly type: 'refused'
        readonly status: number
        readonly attempt: number
        readonly retryAfterSeconds?: number
      }
    | {
        /** The call will be sent again: told before the wait. `attempt` is the one to come. */
        readonly type: 'retrying'
        readonly status: number
        readonly attempt: number
        readonly waitSeconds: number
      }
    | {
        /** A refused call is not sent again, or a waiting one is not sent. */
        readonly type: 'gave-up'
        readonly attempts: number
        readonly reason: RateLimitReason | 'attempts' | 'body'
      }
    | {
        /** A field of an answer, or a member of it, was malformed and not used. */
        readonly type: 'field-ignored'
        readonly field: string
        readonly reason: string
      }
  )

/** Distributes over the union, so that each event keeps its own members. */
type Placeless<Event> = Event extends unknown ? Omit<Event, keyof EventPlace> : never

export type EventAbout = Placeless<ClientEvent>

/** Tells one event to whoever listens. A listener that fails, now or later, never breaks a call. */
export function tell(
  listener: ((event: ClientEvent) => unknown) | undefined,
  partition: string,
  route: string,
  about: EventAbout,
): void {
  if (listener === undefined) return
  try {
    const result = listener({ ...about, partition, route } as ClientEvent)
    if (result instanceof Promise) result.catch(() => {})
  } catch {
    // The listener's own fault; the call goes on.
  }
}

/** A member of that name where the time is known, else none. */
export function seconds<Name extends string>(
  name: Name,
  ms: number | undefined,
): { [name in Name]?: number } {
  if (ms === undefined || !Number.isFinite(ms)) return {}
  return { [name]: Math.max(0, ms) / 1000 } as { [name in Name]?: number }
}
