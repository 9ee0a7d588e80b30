/** A way to write to one Redis server, or through a client that finds the servers of a cluster by itself. */
export interface Link {
  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>
  /** Any other command; none of its words is a key. */
  command(...words: readonly string[]): Promise<unknown>
  /** Whether a command written now goes out now. */
  ready(): boolean
  /** Keeps what is written until `uncork`, so that it leaves together. */
  cork(): void
  uncork(): void
}

/** A link of our own, which does not come back by itself. */
export interface OwnLink extends Link {
  /** How long at most it is left alone between two attempts. @default 500 */
  readonly longestRetryMs?: number
  /** How long at least it must be left alone now. @default 0 */
  restMs?(): number
  /** How long at least an attempt is given. @default 800 */
  readonly readyWithinMs?: number
  /** Begins to connect; how that ends is told by the events. */
  connect(): void
  disconnect(): void
}

export interface LinkEvents {
  ready(): void
  /** It is not connected any more, or could not be. Told once for each `connect`. */
  ended(error: Error | undefined): void
}

/** Makes a link of our own, not connected yet. */
export type OpenLink = (events: LinkEvents) => OwnLink

/** The user's own client, used as it is. */
export interface SharedLink extends Link {
  /** Listens no more; the client is the user's and stays open. */
  leave(): void
}
