/** Something that may be told to stop, seen by those who have to. */
export interface StopSignal {
  readonly aborted: boolean
  readonly reason: unknown
  /** Runs `run` once when it is aborted. @returns ends that */
  listen(run: () => void): () => void
}

/**
 * A caller's signal, with one listener while anybody listens, however many calls share it: platforms
 * warn of more than ten, and one that is never removed is a leak.
 */
class SharedSignal implements StopSignal {
  readonly #signal: AbortSignal
  readonly #runs = new Set<{ readonly run: () => void }>()

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  get aborted(): boolean {
    return this.#signal.aborted
  }

  get reason(): unknown {
    return this.#signal.reason
  }

  listen(run: () => void): () => void {
    const entry = { run }
    if (this.#runs.size === 0) this.#signal.addEventListener('abort', this.#tell)
    this.#runs.add(entry)
    return () => {
      if (!this.#runs.delete(entry) || this.#runs.size > 0) return
      this.#signal.removeEventListener('abort', this.#tell)
    }
  }

  readonly #tell = (): void => {
    this.#signal.removeEventListener('abort', this.#tell)
    const entries = [...this.#runs]
    this.#runs.clear()
    for (const { run } of entries) run()
  }
}

/** The signals of one client's callers. Forgotten with the signals themselves. */
export class StopSignals {
  readonly #known = new WeakMap<AbortSignal, StopSignal>()

  of(signal: AbortSignal): StopSignal {
    const known = this.#known.get(signal)
    if (known !== undefined) return known
    const shared = new SharedSignal(signal)
    this.#known.set(signal, shared)
    return shared
  }
}
