/** A map of at most so many entries: the one that was not touched for longest makes room for a new one. */
export class RecentMap<Value> {
  readonly #most: number
  readonly #entries = new Map<string, Value>()
  readonly #dropped: (key: string) => void
  #newest: string | undefined

  constructor(most: number, dropped: (key: string) => void = () => {}) {
    this.#most = most
    this.#dropped = dropped
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)
  }

  /** Sets and touches. */
  set(key: string, value: Value): void {
    if (key !== this.#newest) this.#entries.delete(key)
    this.#newest = key
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#most) return
    const oldest = this.#entries.keys().next()
    if (oldest.done === true) return
    this.#entries.delete(oldest.value)
    this.#dropped(oldest.value)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  values(): Iterable<Value> {
    return this.#entries.values()
  }
}
