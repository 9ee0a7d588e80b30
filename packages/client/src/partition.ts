import type { Settings } from './options.js'
import type { Pace } from './pace/pace.js'
import { never } from './pace/quota.js'
import { Queue } from './queue.js'
import { RetryBudget } from './retry-budget.js'
import { Streak } from './streak.js'
import type { Target } from './target.js'
import { Waiting } from './waiting.js'

/**
 * The partition of a call by default: its origin and its credential, since those are what servers count
 * by. Kept in memory only; whatever is shown of a partition has a number in the credential's place.
 */
export function defaultPartition(target: Target): string {
  const credential = (name: string): string => (target.bare ? '' : (target.headers.get(name) ?? ''))
  // No field value and no origin can hold a line break, so different credentials never look the same.
  return `${target.address.origin}\n${credential('authorization')}\n${credential('x-api-key')}`
}

/** All that is known of one partition, and who waits for it. */
export class Partition {
  /** How it is shown: an origin and a number. */
  readonly label: string
  readonly pace: Pace
  readonly queue: Queue
  readonly streak: Streak = new Streak()
  readonly retries: RetryBudget
  readonly #rests: () => void
  /** Calls that are under way, from their first claim to their last answer. */
  #calls = 0
  #blockedUntilMs: number = -never

  /** @param rests is told when the last call has ended */
  constructor(label: string, pace: Pace, settings: Settings, rests: () => void) {
    const { clock, maxQueue, budget, events } = settings
    const waiting = new Waiting(events)
    this.label = label
    this.#rests = rests
    this.pace = pace
    this.retries = new RetryBudget(clock, budget)
    this.queue = new Queue(pace, clock, maxQueue, (first) =>
      waiting.tell(this, first, clock.now() < this.#blockedUntilMs),
    )
  }

  /** A refusal asks all calls to wait until then. */
  blocked(untilMs: number): void {
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, untilMs)
  }

  /** Whether a call is under way. */
  get busy(): boolean {
    return this.#calls > 0
  }

  /** A call begins. */
  begin(): void {
    this.#calls += 1
  }

  /** A call has ended, however it did. */
  end(): void {
    this.#calls -= 1
    if (!this.busy) this.#rests()
  }
}
