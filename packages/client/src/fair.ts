/** Fewer need not be looked through. */
const fewShares = 1000

interface Share {
  /** Where its next call goes. */
  next: number
  /** Where its next call would go if none of those that wait had come. */
  had: number
  waiting: number
}

/**
 * The order in which keys that wait for one quota take turns (start-time fair queueing): each call is placed where
 * it would begin if all keys were served side by side, a unit of each at a time.
 */
export class Fair {
  /** The place of the last call served. */
  #served = 0
  readonly #shares = new Map<string, Share>()
  #mostShares = fewShares

  /** The place of a call that goes at once, while nobody waits. */
  get now(): number {
    return this.#served
  }

  /** A call begins to wait, anew or at the place it had. */
  place(key: string, cost: number, had: number | undefined): number {
    const share = this.#shares.get(key) ?? { next: 0, had: 0, waiting: 0 }
    if (this.#shares.size > this.#mostShares) this.#forget()
    this.#shares.set(key, share)
    share.waiting += 1
    if (had !== undefined) return had
    const place = Math.max(this.#served, share.next)
    share.next = place + cost
    return place
  }

  /** A call waits no more. */
  left(key: string, place: number, cost: number, served: boolean): void {
    const share = this.#shares.get(key)
    if (served) this.#served = Math.max(this.#served, place)
    if (share === undefined) return
    share.waiting -= 1
    if (served) share.had = Math.max(share.had, place + cost)
    if (share.waiting === 0) share.next = share.had
    else if (!served && share.next === place + cost) share.next = place
  }

  /** Nobody waits any more, so nobody has had more than another. */
  clear(): void {
    this.#shares.clear()
  }

  #forget(): void {
    for (const [key, { next, waiting }] of this.#shares) {
      if (waiting === 0 && next <= this.#served) this.#shares.delete(key)
    }
    this.#mostShares = Math.max(fewShares, 2 * this.#shares.size)
  }
}
