import type { Attempted } from './attempt.js'
import { Budget } from './budget.js'
import { type Aside, failed, setAside } from './drain.js'
import { RateLimitError, refusalError } from './errors.js'
import { type EventAbout, seconds } from './events.js'
import { type CallParts, type Ended, fly, type Surroundings } from './fly.js'
import { followBody } from './follow.js'
import { isRetryable, obstacle } from './retry.js'
import { isSettled, markSettled } from './settled.js'
import { sleep } from './sleep.js'
import type { QueueRefusal, Sent, Turn } from './turn.js'

/** One call of fetch: waits for its turn, sends, learns from the answer, and does it again where that helps. */
export class Call {
  readonly #around: Surroundings
  readonly #parts: CallParts
  readonly #budget: Budget
  /** How many times it was sent. */
  #attempts = 0
  #place: number | undefined

  constructor(around: Surroundings, parts: CallParts) {
    const { clock, totalTimeoutMs } = around.settings
    this.#around = around
    this.#parts = parts
    this.#budget = new Budget(clock, parts.about.maxWaitMs, totalTimeoutMs)
  }

  async run(): Promise<Response> {
    const { partition, outgoing } = this.#parts
    let aside: Aside | undefined
    partition.begin()
    try {
      for (let pauseMs = 0; ; ) {
        let sent: Sent
        try {
          const turn = this.#turn(pauseMs)
          sent = turn instanceof Promise ? await this.#budget.spend(turn) : turn
        } catch (error) {
          return this.#unsent(error, aside)
        }
        aside?.drop()
        const ended = await this.#send(sent)
        const { answer, error, outcome } = ended
        if (!this.#isWorthAnother(ended)) {
          if (answer !== undefined) return this.#finish(answer)
          throw error
        }
        aside = answer === undefined ? failed(error) : setAside(answer, this.#around.settings.clock)
        pauseMs = outcome.paced ? 0 : outcome.waitMs
      }
    } finally {
      partition.end()
      outgoing.done()
    }
  }

  /** Pauses, then waits until the partition's pace lets the call go; the turn itself where neither is needed. */
  #turn(pauseMs: number): Sent | Promise<Sent> {
    const { settings, closing } = this.#around
    const { signal, partition } = this.#parts
    const turn = this.#claim()
    if (signal?.aborted) throw signal.reason
    if (pauseMs <= 0) return partition.queue.take(turn)
    const pause = sleep(pauseMs, settings.clock, signal === undefined ? [closing] : [signal, closing])
    return pause.then(() => partition.queue.take(turn))
  }

  #claim(): Turn {
    const { partition, route, about, arrival, signal } = this.#parts
    const { leftMs, bound } = this.#budget
    return {
      route,
      cost: about.cost,
      priority: about.priority,
      key: about.key,
      believeMs: about.maxWaitMs,
      arrival,
      deadlineMs: this.#around.settings.clock.now() + leftMs,
      place: this.#place,
      signal,
      refuse({ why, waitMs }: QueueRefusal): Error {
        const reason = why === 'late' ? bound : why === 'full' ? 'queue-full' : 'closed'
        return refusalError(reason, partition.label, waitMs, partition.pace.limits(route))
      },
    }
  }

  /** A call that got no turn: it ends as its last attempt did where it had one, else with the error. */
  #unsent(error: unknown, aside: Aside | undefined): Response {
    const limited = error instanceof RateLimitError
    if (limited) this.#tell({ type: 'gave-up', attempts: this.#attempts, reason: error.reason })
    const last = limited ? aside?.take() : undefined
    if (last !== undefined) return this.#finish(last)
    aside?.drop()
    throw error
  }

  async #send({ flight, place }: Sent): Promise<Ended> {
    this.#place = place
    this.#attempts += 1
    if (this.#attempts === 1) this.#parts.partition.retries.sent()
    const ended = await fly(this.#around, this.#parts, flight, this.#attempts, this.#budget.totalLeftMs)
    for (const fault of ended.outcome.reading?.ignored ?? []) this.#tell({ type: 'field-ignored', ...fault })
    return ended
  }

  /** Whether it is sent again. What nobody else should send again either is marked. */
  #isWorthAnother({ answer, error, outcome }: Ended): boolean {
    const { reading, limited, waitMs } = outcome
    const { settings } = this.#around
    const attempt = this.#attempts
    const ending = answer === undefined ? error : answer.response
    const status = answer?.response.status
    if (limited && status !== undefined)
      this.#tell({ type: 'refused', status, attempt, ...seconds('retryAfterSeconds', reading?.hintMs) })
    const { advice } = outcome
    if (!isRetryable({ status, limited, advice }, this.#parts.target, settings) || isSettled(ending))
      return false
    const reason = this.#obstacle(outcome)
    if (reason !== undefined) {
      markSettled(ending)
      this.#tell({ type: 'gave-up', attempts: attempt, reason })
      return false
    }
    const about = status === undefined ? {} : { status }
    this.#tell({ type: 'retrying', ...about, attempt: attempt + 1, waitSeconds: waitMs / 1000 })
    return true
  }

  #obstacle({ paced, waitMs }: Ended['outcome']): ReturnType<typeof obstacle> {
    const { partition, route, about, outgoing } = this.#parts
    const { queue, retries } = partition
    const { leftMs, bound } = this.#budget
    const longestMs = paced && queue.flying === 0 ? Math.max(waitMs, queue.waitMs(route, about.cost)) : waitMs
    const { repeatable } = outgoing
    const chances = { attempt: this.#attempts, repeatable, waitMs: longestMs, leftMs, bound }
    return (
      obstacle(chances, this.#around.settings.maxAttempts) ?? (paced || retries.take() ? undefined : 'budget')
    )
  }

  #finish({ response, controller }: Attempted): Response {
    const { leftovers, settings } = this.#around
    const { signal } = this.#parts
    if (settings.statuses.has(response.status)) markSettled(response)
    if (signal !== undefined && controller !== undefined) followBody(response, signal, controller, leftovers)
    const { waitedMs } = this.#budget
    const { status } = response
    this.#tell({ type: 'answered', status, attempts: this.#attempts, waitedSeconds: waitedMs / 1000 })
    return response
  }

  #tell(about: EventAbout): void {
    const { partition, route } = this.#parts
    this.#around.settings.events.tell(partition.label, route, about)
  }
}
