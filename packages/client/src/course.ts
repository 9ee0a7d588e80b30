import { Budget } from './budget.js'
import type { CallSettings } from './call-options.js'
import { RateLimitError, refusalError } from './errors.js'
import { type EventAbout, seconds } from './events.js'
import type { Settings } from './options.js'
import type { Outcome } from './outcome.js'
import type { Partition } from './partition.js'
import { isRetryable, type Obstacle, obstacle } from './retry.js'
import { isSettled, markSettled } from './settled.js'
import { sleep } from './sleep.js'
import type { StopSignal } from './stop-signal.js'
import type { Target } from './target.js'
import type { Sent, Turn } from './turn.js'

/** What a call is about, whichever way it is sent. */
export interface CourseParts {
  readonly about: CallSettings
  readonly target: Target
  readonly partition: Partition
  readonly route: string
  readonly arrival: number
  readonly signal: StopSignal | undefined
  /** Whether its body can be sent more than once. */
  readonly repeatable: boolean
}

/** What all courses of a client share. */
interface Surroundings {
  readonly settings: Settings
  /** Aborted when the client is closed. */
  readonly closing: StopSignal
}

/** The course of one call: what it has done and still may do, and when. Nothing here sends. */
export class Course {
  readonly budget: Budget
  readonly parts: CourseParts
  readonly #settings: Settings
  readonly #closing: StopSignal
  /** How many times it was sent. */
  attempts = 0
  #place: number | undefined
  #sentAtMs = 0

  constructor({ settings, closing }: Surroundings, parts: CourseParts) {
    this.parts = parts
    this.#settings = settings
    this.#closing = closing
    this.budget = new Budget(settings.clock, parts.about.maxWaitMs, settings.totalTimeoutMs)
  }

  /** Pauses, then waits until the partition's pace lets the call go; the turn itself where neither is needed. */
  turn(pauseMs: number): Sent | Promise<Sent> {
    const { signal, partition, route, about } = this.parts
    const { queue } = partition
    if (signal?.aborted) throw signal.reason
    if (pauseMs <= 0)
      return queue.pass(route, about.cost, about.maxWaitMs, this.#place) ?? queue.take(this.#claim())
    const turn = this.#claim()
    const signals = signal === undefined ? [this.#closing] : [signal, this.#closing]
    return sleep(pauseMs, this.#settings.clock, signals).then(() => queue.take(turn))
  }

  /** It is sent now. */
  sent({ place }: Sent): void {
    this.#place = place
    this.#sentAtMs = performance.now()
    this.attempts += 1
    if (this.attempts === 1) this.parts.partition.retries.sent()
  }

  /**
   * Whether it is sent again. What nobody else should send again either is marked.
   *
   * @param ending the answer, or what is known of it by whoever may be wrapped around; the error where there was none
   */
  isWorthAnother(outcome: Outcome, status: number | undefined, ending: unknown): boolean {
    const { reading, limited, waitMs, advice } = outcome
    const attempt = this.attempts
    for (const fault of reading?.ignored ?? []) this.tell({ type: 'field-ignored', ...fault })
    if (limited && status !== undefined)
      this.tell({ type: 'refused', status, attempt, ...seconds('retryAfterSeconds', reading?.hintMs) })
    if (!isRetryable(status, limited, advice, this.parts.target, this.#settings)) return false
    if (isSettled(ending, this.#settings, this.#sentAtMs)) return false
    const reason = this.#obstacle(outcome)
    if (reason !== undefined) {
      markSettled(ending, this.#settings)
      this.tell({ type: 'gave-up', attempts: attempt, reason })
      return false
    }
    const about = status === undefined ? {} : { status }
    this.tell({ type: 'retrying', ...about, attempt: attempt + 1, waitSeconds: waitMs / 1000 })
    return true
  }

  /** Whether it got no turn because of a limit, so that it ends as its last attempt did, if it had one. */
  isLimited(error: unknown): boolean {
    if (!(error instanceof RateLimitError)) return false
    this.tell({ type: 'gave-up', attempts: this.attempts, reason: error.reason })
    return true
  }

  /** An answer is handed to the caller. */
  answered(status: number, ending: unknown): void {
    const { statuses, events } = this.#settings
    if (statuses.has(status)) markSettled(ending, this.#settings)
    if (!events.hears('answered')) return
    const { waitedMs } = this.budget
    this.tell({ type: 'answered', status, attempts: this.attempts, waitedSeconds: waitedMs / 1000 })
  }

  tell(about: EventAbout): void {
    const { partition, route } = this.parts
    this.#settings.events.tell(partition.label, route, about)
  }

  /** For how long an attempt that starts now may go without an answer. */
  get timeoutMs(): number {
    return Math.min(this.#settings.attemptTimeoutMs, this.budget.totalLeftMs)
  }

  /** What an attempt ends with that may go on for so long, and did. */
  timeoutReason(timeoutMs: number): Error {
    const { partition, route } = this.parts
    const { attemptTimeoutMs } = this.#settings
    return timeoutMs < attemptTimeoutMs
      ? refusalError('deadline', partition.label, Number.NaN, partition.pace.limits(route))
      : new DOMException(`No answer within ${attemptTimeoutMs / 1000} s`, 'TimeoutError')
  }

  #claim(): Turn {
    const { partition, route, about, arrival, signal } = this.parts
    const { leftMs, bound } = this.budget
    return {
      route,
      cost: about.cost,
      priority: about.priority,
      key: about.key,
      believeMs: about.maxWaitMs,
      arrival,
      deadlineMs: this.#settings.clock.now() + leftMs,
      place: this.#place,
      signal,
      refuse: (waitMs, reason = bound) =>
        refusalError(reason, partition.label, waitMs, partition.pace.limits(route)),
    }
  }

  #obstacle({ paced, waitMs }: Outcome): Obstacle | undefined {
    const { partition, route, about, repeatable } = this.parts
    const { queue, retries } = partition
    const { leftMs, bound } = this.budget
    const longestMs = paced && queue.coming === 0 ? Math.max(waitMs, queue.waitMs(route, about.cost)) : waitMs
    const chances = { attempt: this.attempts, repeatable, waitMs: longestMs, leftMs, bound }
    return obstacle(chances, this.#settings.maxAttempts) ?? (paced || retries.take() ? undefined : 'budget')
  }
}
