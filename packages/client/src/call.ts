import { type Attempted, attempt as sendOnce } from './attempt.js'
import type { Outgoing } from './body.js'
import { Budget } from './budget.js'
import { type Aside, setAside } from './drain.js'
import { RateLimitError, refusalError } from './errors.js'
import { type EventAbout, tell } from './events.js'
import { followBody, type Leftovers } from './follow.js'
import type { CallSettings, Settings } from './options.js'
import type { Flight } from './pace/pace.js'
import type { Partition } from './partition.js'
import type { QueueRefusal, Turn } from './queue.js'
import { type Reading, readAnswer } from './read.js'
import { isRetryable, obstacle, retryWaitMs } from './retry.js'
import { isSettled, markSettled } from './settled.js'
import { sleep } from './sleep.js'
import type { FetchInput, Target } from './target.js'

/** What all calls of a client share. */
export interface Surroundings {
  readonly settings: Settings
  readonly send: (input: FetchInput, init: RequestInit) => Promise<Response>
  /** Aborted when the client is closed. */
  readonly closing: AbortSignal
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
  readonly signal: AbortSignal | undefined
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
    partition.busy += 1
    try {
      return await this.#attempts()
    } finally {
      partition.busy -= 1
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
      const attempted = await this.#send(flight, attempt)
      const pause = this.#learn(flight, attempted.response, attempt)
      if (pause === undefined) return this.#finish(attempted)
      aside = setAside(attempted.response, this.#around.settings.clock)
      pauseMs = pause
    }
  }

  /** Pauses, then waits until the partition's pace lets the call go. */
  #turn(attempt: number, pauseMs: number): Promise<Flight> {
    const { settings, closing } = this.#around
    const { signal, partition } = this.#parts
    const turn = this.#claim(attempt)
    return this.#budget.spend(async () => {
      signal?.throwIfAborted()
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
    if (refusal !== undefined) return this.#finish({ response: refusal })
    aside?.drop()
    throw error
  }

  async #send(flight: Flight, attempt: number): Promise<Attempted> {
    const { settings, send } = this.#around
    const { partition, outgoing, signal } = this.#parts
    const { attemptTimeoutMs, maxAttempts, clock } = settings
    const { totalLeftMs } = this.#budget
    const timeoutMs = Math.min(attemptTimeoutMs, totalLeftMs)
    const timeoutReason = (): unknown =>
      totalLeftMs < attemptTimeoutMs
        ? refusalError('deadline', partition.label, Number.NaN, partition.pace.limits(flight.route))
        : new DOMException(`No answer within ${attemptTimeoutMs / 1000} s`, 'TimeoutError')
    try {
      const { input, init } = outgoing.next(attempt >= maxAttempts)
      return await sendOnce((own) => send(input, own === undefined ? init : { ...init, signal: own }), {
        clock,
        signal,
        timeoutMs,
        timeoutReason,
      })
    } catch (error) {
      partition.pace.lost(flight)
      partition.queue.landed()
      throw error
    }
  }

  /** @returns how long to pause before the next attempt (none = as long as the pace says), or undefined for no other */
  #learn(flight: Flight, response: Response, attempt: number): number | undefined {
    const { settings } = this.#around
    const { partition, target } = this.#parts
    const { status } = response
    const reading = readAnswer(response, target.location.origin)
    for (const fault of reading.ignored) this.#tell({ type: 'field-ignored', ...fault })
    const limited = status === 429 || (settings.statuses.has(status) && reading.hintMs !== undefined)
    const paced = limited && reading.own
    const refusals = paced ? partition.streak.refused(flight.sentAtMs, settings.clock.now()) : 0
    const waitMs = retryWaitMs(reading.hintMs, Math.max(refusals, attempt), settings.backoff, settings.random)
    if (limited)
      this.#tell({ type: 'refused', status, attempt, ...seconds('retryAfterSeconds', reading.hintMs) })
    this.#inform(flight, reading, paced ? waitMs : undefined)
    partition.queue.landed()
    if (!this.#worthAnother(response, attempt, waitMs, paced)) return undefined
    this.#tell({ type: 'retrying', status, attempt: attempt + 1, waitSeconds: waitMs / 1000 })
    return paced ? 0 : waitMs
  }

  #inform(flight: Flight, reading: Reading, refusedMs: number | undefined): void {
    const { pace, streak } = this.#parts.partition
    const { limits, policies } = reading
    if (refusedMs === undefined) streak.accepted(flight.sentAtMs)
    if (refusedMs === undefined) pace.answered(flight, { outcome: 'accepted', limits, policies })
    else pace.answered(flight, { outcome: 'refused', limits, policies, retryAfterMs: refusedMs })
  }

  #worthAnother(response: Response, attempt: number, waitMs: number, paced: boolean): boolean {
    const { settings } = this.#around
    const { partition, outgoing, target, route, about } = this.#parts
    if (!isRetryable(response.status, target.method, settings) || isSettled(response)) return false
    const { queue } = partition
    const { leftMs, bound } = this.#budget
    const longestMs = paced && !queue.flying ? Math.max(waitMs, queue.waitMs(route, about.cost)) : waitMs
    const { repeatable } = outgoing
    const reason = obstacle({ attempt, repeatable, waitMs: longestMs, leftMs, bound }, settings)
    if (reason !== undefined) this.#tell({ type: 'gave-up', attempts: attempt, reason })
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

/** A member of that name where the time is known, else none. */
function seconds<Name extends string>(name: Name, ms: number | undefined): { [name in Name]?: number } {
  if (ms === undefined || !Number.isFinite(ms)) return {}
  return { [name]: Math.max(0, ms) / 1000 } as { [name in Name]?: number }
}
