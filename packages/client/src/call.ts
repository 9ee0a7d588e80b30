import { type Attempted, attempt as sendOnce } from './attempt.js'
import type { Outgoing } from './body.js'
import { Budget } from './budget.js'
import type { CallSettings } from './call-options.js'
import { type Aside, setAside } from './drain.js'
import { RateLimitError, refusalError } from './errors.js'
import { type EventAbout, seconds, tell } from './events.js'
import { followBody, type Leftovers } from './follow.js'
import type { Settings } from './options.js'
import { type Outcome, readOutcome } from './outcome.js'
import type { Flight } from './pace/pace.js'
import type { Partition } from './partition.js'
import type { QueueRefusal, Turn } from './queue.js'
import { isRetryable, obstacle } from './retry.js'
import { isSettled, markSettled } from './settled.js'
import { sleep } from './sleep.js'
import type { StopSignal } from './stop-signal.js'
import type { FetchInput, Target } from './target.js'

/** What all calls of a client share. */
export interface Surroundings {
  readonly settings: Settings
  readonly send: (input: FetchInput, init: RequestInit) => Promise<Response>
  /** Aborted when the client is closed. */
  readonly closing: StopSignal
  readonly leftovers: Leftovers
}

/** What one call is made of. */
export interface CallParts {
  readonly about: CallSettings
  readonly target: Target
  readonly outgoing: Outgoing
  readonly partition: Partition
  readonly route: string
  readonly arrival: number
  readonly signal: StopSignal | undefined
}

interface Answered extends Attempted {
  readonly outcome: Outcome
}

/** One call of fetch: waits for its turn, sends, learns from the answer, and does it again where that helps. */
export class Call {
  readonly #around: Surroundings
  readonly #parts: CallParts
  readonly #budget: Budget

  constructor(around: Surroundings, parts: CallParts) {
    const { clock, totalTimeoutMs } = around.settings
    this.#around = around
    this.#parts = parts
    this.#budget = new Budget(clock, parts.about.maxWaitMs, totalTimeoutMs)
  }

  async run(): Promise<Response> {
    const { partition, outgoing } = this.#parts
    partition.begin()
    try {
      return await this.#attempts()
    } finally {
      partition.end()
      outgoing.done()
    }
  }

  async #attempts(): Promise<Response> {
    let aside: Aside | undefined
    let pauseMs = 0
    for (let attempt = 1; ; attempt += 1) {
      let flight: Flight
      try {
        flight = await this.#turn(attempt, pauseMs)
      } catch (error) {
        return this.#unsent(error, attempt, aside)
      }
      aside?.drop()
      const answer = await this.#send(flight, attempt)
      if (!this.#worthAnother(answer, attempt)) return this.#finish(answer)
      aside = setAside(answer, this.#around.settings.clock)
      pauseMs = answer.outcome.paced ? 0 : answer.outcome.waitMs
    }
  }

  /** Pauses, then waits until the partition's pace lets the call go. */
  #turn(attempt: number, pauseMs: number): Promise<Flight> {
    const { settings, closing } = this.#around
    const { signal, partition } = this.#parts
    const turn = this.#claim(attempt)
    return this.#budget.spend(async () => {
      if (signal?.aborted) throw signal.reason
      if (pauseMs > 0)
        await sleep(pauseMs, settings.clock, signal === undefined ? [closing] : [signal, closing])
      const flight = partition.queue.take(turn)
      if (flight instanceof Promise) this.#tellWaiting()
      return flight
    })
  }

  #claim(attempt: number): Turn {
    const { partition, route, about, arrival, signal } = this.#parts
    const { leftMs, bound } = this.#budget
    return {
      route,
      cost: about.cost,
      priority: about.priority,
      believeMs: about.maxWaitMs,
      arrival,
      deadlineMs: this.#around.settings.clock.now() + leftMs,
      again: attempt > 1,
      signal,
      refuse({ why, waitMs }: QueueRefusal): Error {
        const reason = why === 'late' ? bound : why === 'full' ? 'queue-full' : 'closed'
        return refusalError(reason, partition.label, waitMs, partition.pace.limits(route))
      },
    }
  }

  /** A call that got no turn: it ends with its own refusal where it has one, else with the error. */
  #unsent(error: unknown, attempt: number, aside: Aside | undefined): Response {
    const limited = error instanceof RateLimitError
    if (limited) this.#tell({ type: 'gave-up', attempts: attempt - 1, reason: error.reason })
    const refusal = limited ? aside?.take() : undefined
    if (refusal !== undefined) return this.#finish(refusal)
    aside?.drop()
    throw error
  }

  /** Sends, and tells the pace what came of it. */
  async #send(flight: Flight, attempt: number): Promise<Answered> {
    const { partition, target } = this.#parts
    try {
      const { response, controller } = await this.#fly(flight, attempt)
      const { settings } = this.#around
      const outcome = readOutcome(response, target.location.origin, settings, { partition, flight, attempt })
      for (const fault of outcome.reading.ignored) this.#tell({ type: 'field-ignored', ...fault })
      return { response, controller, outcome }
    } catch (error) {
      partition.pace.lost(flight)
      throw error
    } finally {
      partition.queue.landed()
    }
  }

  #fly(flight: Flight, attempt: number): Promise<Attempted> {
    const { settings, send } = this.#around
    const { partition, outgoing, signal } = this.#parts
    const { attemptTimeoutMs, maxAttempts, clock } = settings
    const { totalLeftMs } = this.#budget
    const timeoutReason = (): unknown =>
      totalLeftMs < attemptTimeoutMs
        ? refusalError('deadline', partition.label, Number.NaN, partition.pace.limits(flight.route))
        : new DOMException(`No answer within ${attemptTimeoutMs / 1000} s`, 'TimeoutError')
    const { input, init } = outgoing.next(attempt >= maxAttempts)
    return sendOnce((own) => send(input, own === undefined ? init : { ...init, signal: own }), {
      clock,
      signal,
      timeoutMs: Math.min(attemptTimeoutMs, totalLeftMs),
      timeoutReason,
    })
  }

  #worthAnother({ response, outcome }: Answered, attempt: number): boolean {
    const { reading, limited, paced, waitMs } = outcome
    const { settings } = this.#around
    const { partition, outgoing, target, route, about } = this.#parts
    const { status } = response
    if (limited)
      this.#tell({ type: 'refused', status, attempt, ...seconds('retryAfterSeconds', reading.hintMs) })
    if (!isRetryable(status, target.method, settings) || isSettled(response)) return false
    const { queue } = partition
    const { leftMs, bound } = this.#budget
    const longestMs = paced && !queue.flying ? Math.max(waitMs, queue.waitMs(route, about.cost)) : waitMs
    const { repeatable } = outgoing
    const reason = obstacle({ attempt, repeatable, waitMs: longestMs, leftMs, bound }, settings)
    if (reason !== undefined) this.#tell({ type: 'gave-up', attempts: attempt, reason })
    else this.#tell({ type: 'retrying', status, attempt: attempt + 1, waitSeconds: waitMs / 1000 })
    return reason === undefined
  }

  #finish({ response, controller }: Attempted): Response {
    const { settings, leftovers } = this.#around
    const { signal } = this.#parts
    if (settings.statuses.has(response.status)) markSettled(response)
    if (signal !== undefined && controller !== undefined) followBody(response, signal, controller, leftovers)
    return response
  }

  #tellWaiting(): void {
    const { partition, route, about } = this.#parts
    const { queue } = partition
    if (this.#around.settings.onEvent === undefined || queue.size === 0) return
    const waitMs = queue.waitMs(route, about.cost)
    this.#tell({ type: 'waiting', queued: queue.size, ...seconds('waitSeconds', waitMs) })
  }

  #tell(about: EventAbout): void {
    const { partition, route } = this.#parts
    tell(this.#around.settings.onEvent, partition.label, route, about)
  }
}
