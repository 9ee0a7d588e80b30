import type { RateLimitReason } from './errors.js'

/** What every event tells: which partition (its origin and a number, never a credential) and which route. */
export interface EventPlace {
  readonly partition: string
  readonly route: string
}

/** What calls wait for: an exhausted limit, the end of a refusal, or the answer to a call that finds out. */
export type WaitReason = 'limit' | 'refusal' | 'answer'

/** What happens inside a client, told to `onEvent` and on `node:diagnostics_channel`. Times are in seconds. */
export type ClientEvent = EventPlace &
  (
    | {
        /**
         * Calls have to wait before they are sent. Told once for each reason until the queue is empty, not for each
         * call; the route is that of the first. `policy` is what holds it, `waitSeconds` for how long, where known.
         */
        readonly type: 'waiting'
        readonly reason: WaitReason
        readonly policy?: string
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
        /**
         * The call will be sent again: told before the wait. `attempt` is the one to come; no status = there was no
         * answer.
         */
        readonly type: 'retrying'
        readonly status?: number
        readonly attempt: number
        readonly waitSeconds: number
      }
    | {
        /** A refused call is not sent again, or a waiting one is not sent. */
        readonly type: 'gave-up'
        readonly attempts: number
        readonly reason: RateLimitReason | 'attempts' | 'body' | 'budget'
      }
    | {
        /** A call has its answer. `waitedSeconds` counts all its waits, the time in flight is not one. */
        readonly type: 'answered'
        readonly status: number
        readonly attempts: number
        readonly waitedSeconds: number
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

type Listener = (event: ClientEvent) => unknown
type Channel = import('node:diagnostics_channel').Channel

/** Tells events to whoever listens. A listener that fails, now or later, never breaks a call. */
export class Events {
  readonly #listeners: Listener[]
  /** Of Node and what follows it; read without an import, so that the code stays the same everywhere. */
  readonly #node: typeof import('node:diagnostics_channel') | undefined =
    globalThis.process?.getBuiltinModule?.('diagnostics_channel')
  /** Looked up once: whoever subscribes later subscribes to the same ones. */
  readonly #channels: { [type in ClientEvent['type']]?: Channel | undefined } = {}

  constructor(onEvent: Listener | undefined) {
    const printing = isDebugging() ? import('./diagnostics.js') : undefined
    this.#listeners = [onEvent, printing && printer(printing)].filter((each) => each !== undefined)
  }

  /** Whether anybody would hear of such an event. */
  hears(type: ClientEvent['type']): boolean {
    return this.#listeners.length > 0 || this.#channel(type)?.hasSubscribers === true
  }

  tell(partition: string, route: string, about: EventAbout): void {
    if (!this.hears(about.type)) return
    const event = { ...about, partition, route } as ClientEvent
    for (const listener of this.#listeners) quietly(listener, event)
    this.#channel(about.type)?.publish(event)
  }

  #channel(type: ClientEvent['type']): Channel | undefined {
    this.#channels[type] ??= this.#node?.channel(`ratepact:client:${type}`)
    return this.#channels[type]
  }
}

function quietly(listener: Listener, event: ClientEvent): void {
  try {
    const result = listener(event)
    if (result instanceof Promise) result.catch(() => {})
  } catch {
    // The listener's own fault; the call goes on.
  }
}

/** Deno would ask its user before it shows an environment variable. */
function isDebugging(): boolean {
  return !('Deno' in globalThis) && globalThis.process?.env?.RATEPACT_DEBUG === '1'
}

/** In order, also what happens before the printer is there. */
function printer(printing: Promise<typeof import('./diagnostics.js')>): Listener {
  printing.catch(() => {})
  return (event) => printing.then(({ explain }) => console.error(`ratepact: ${explain(event)}`))
}

/** A member of that name where the time is known, else none. */
export function seconds<Name extends string>(
  name: Name,
  ms: number | undefined,
): { [name in Name]?: number } {
  if (ms === undefined || !Number.isFinite(ms)) return {}
  return { [name]: Math.ceil(Math.max(0, ms)) / 1000 } as { [name in Name]?: number }
}
