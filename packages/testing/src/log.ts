/** A request as the API saw it. */
export interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  /** When it was counted, by the API's clock, in milliseconds. */
  readonly atMs: number
  /** False when it was refused. */
  readonly admitted: boolean
}

/** How many requests there were, of all partitions together. */
export interface Counts {
  readonly received: number
  readonly admitted: number
  readonly refused: number
}

const mostKept = 10_000

/** What came in, and what became of it. Counts all, and keeps the last 10 000. */
export class Log {
  #requests: SeenRequest[] = []
  #admitted = 0
  #refused = 0

  add(request: SeenRequest): void {
    if (request.admitted) this.#admitted += 1
    else this.#refused += 1
    this.#requests.push(request)
    if (this.#requests.length >= 2 * mostKept) this.#requests.splice(0, mostKept)
  }

  requests(): readonly SeenRequest[] {
    return this.#requests.slice(-mostKept)
  }

  counts(): Counts {
    const [admitted, refused] = [this.#admitted, this.#refused]
    return { received: admitted + refused, admitted, refused }
  }

  clear(): void {
    this.#requests = []
    this.#admitted = 0
    this.#refused = 0
  }
}
