import type { Dispatcher } from 'undici'
import type { StopSignal } from '../stop-signal.js'

type Inner = Dispatcher.DispatchController
type Raw = Exclude<Inner['rawHeaders'], undefined>

/** A body on its way, which can be told to wait. */
export type Flow = Pick<Inner, 'pause' | 'resume'>

/**
 * What the handler of a call holds, from the beginning to the end: one for all its attempts, and while none is under way. It is the
 * signal that waits are ended by, too.
 */
export class Controller implements Inner, StopSignal {
  /** That of the attempt that was heard of last, for the fields as they came. */
  inner: Inner | undefined
  /** A field that the answer is told with besides: its name and its value. */
  added: readonly [string, string] | undefined
  reason: Error | null = null
  readonly #runs = new Set<() => void>()
  readonly #stop: (reason: Error) => void
  #flow: Flow | undefined
  paused = false

  /** @param stop is told of the first abort, after all who wait */
  constructor(stop: (reason: Error) => void) {
    this.#stop = stop
  }

  get aborted(): boolean {
    return this.reason !== null
  }

  get rawHeaders(): Raw {
    const raw = this.inner?.rawHeaders ?? null
    return this.added !== undefined && Array.isArray(raw) ? ([...raw, ...this.added] as string[]) : raw
  }

  get rawTrailers(): Raw {
    return this.inner?.rawTrailers ?? null
  }

  /** Handlers put another one in the place of this: `dump` of undici does. */
  abort(reason?: Error): void {
    this.stop(reason)
  }

  stop(reason?: Error): void {
    if (this.aborted) return
    this.reason = reason ?? new DOMException('This operation was aborted', 'AbortError')
    for (const run of [...this.#runs]) run()
    this.#stop(this.reason)
  }

  /** The call's own answer begins to flow, if its handler has not paused it before. */
  flows(flow: Flow): void {
    this.#flow = flow
    if (this.paused) flow.pause()
  }

  pause(): void {
    this.paused = true
    this.#flow?.pause()
  }

  resume(): void {
    this.paused = false
    this.#flow?.resume()
  }

  listen(run: () => void): () => void {
    this.#runs.add(run)
    return () => this.#runs.delete(run)
  }
}
