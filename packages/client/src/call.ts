import { type Attempted, attempt } from './attempt.js'
import type { Base } from './base.js'
import type { Outgoing } from './body.js'
import { cancelBody } from './cancel.js'
import { rule } from './check.js'
import { Course, type CourseParts } from './course.js'
import { type Aside, failed, setAside } from './drain.js'
import { followBody, type Leftovers } from './follow.js'
import { judge } from './judge.js'
import type { Settings } from './options.js'
import { type Outcome, readOutcome, unansweredOutcome } from './outcome.js'
import type { Flight } from './pace/pace.js'
import { never } from './pace/quota.js'
import { Place, watchReading } from './reading.js'
import { isNetworkError } from './retry.js'
import type { Verdict } from './retry-options.js'
import type { FetchInput } from './target.js'
import type { Sent } from './turn.js'

/** What all calls of a client share. */
export interface Surroundings {
  readonly base: Base
  readonly send: (input: FetchInput, init: RequestInit) => Promise<Response>
  readonly leftovers: Leftovers
}

/** What one call is made of. */
export interface CallParts extends CourseParts {
  readonly outgoing: Outgoing
}

/** One call of fetch: waits for its turn, sends, learns from the answer, and does it again where that helps. */
export class Call {
  readonly #around: Surroundings
  readonly #parts: CallParts
  readonly #course: Course
  readonly #settings: Settings
  #verdict: Verdict
  /** What one of the caller's own functions failed with, which says nothing of the network. */
  #fault: unknown

  constructor(around: Surroundings, parts: CallParts) {
    this.#around = around
    this.#parts = parts
    this.#course = new Course(around.base, parts)
    this.#settings = around.base.settings
  }

  /** @throws RateLimitError when the client is closed, or the call gets no turn */
  async run(): Promise<Response> {
    const { base } = this.#around
    const { partition, outgoing } = this.#parts
    const course = this.#course
    let aside: Aside | undefined
    partition.begin()
    try {
      base.begin()
      for (let pauseMs = 0; ; ) {
        let sent: Sent
        try {
          const turn = course.turn(pauseMs)
          sent = turn instanceof Promise ? await course.budget.spend(turn) : turn
        } catch (error) {
          return this.#unsent(error, aside)
        }
        aside?.drop()
        course.sent(sent)
        let answer: Attempted | undefined
        let error: unknown
        let outcome: Outcome
        try {
          answer = await this.#attempt()
          outcome = this.#read(answer, sent.flight)
        } catch (thrown) {
          error = thrown
          outcome = this.#failed(error, answer, sent.flight)
        } finally {
          partition.queue.landed(sent.flight.route)
        }
        const response = answer?.response
        const again = course.isWorthAnother(outcome, response?.status, answer ? response : error)
        if (outcome.streams) this.#follow(again ? undefined : response, sent.flight)
        if (!again) {
          if (answer === undefined) throw error
          return this.#finish(answer)
        }
        aside = answer ? setAside(answer, this.#settings.clock) : failed(error)
        pauseMs = outcome.paced ? 0 : outcome.waitMs
      }
    } finally {
      partition.end()
      outgoing.done()
      base.end()
    }
  }

  /** Sends once, for as long as it may take. */
  #attempt(): Promise<Attempted> {
    const { signal } = this.#parts
    const { timeoutMs } = this.#course
    if (signal === undefined && timeoutMs === never) return this.#send(undefined)
    const timeoutReason = (): Error => this.#course.timeoutReason(timeoutMs)
    const { clock } = this.#settings
    return attempt((own) => this.#send(own), { clock, signal, timeoutMs, timeoutReason })
  }

  async #send(controller: AbortController | undefined): Promise<Attempted> {
    const { classify, maxAttempts } = this.#settings
    let sending = false
    try {
      const next = this.#parts.outgoing.next(this.#course.attempts >= maxAttempts)
      const { input, init } = next instanceof Promise ? await next : next
      sending = true
      const sent = await this.#around.send(input, controller ? { ...init, signal: controller.signal } : init)
      sending = false
      const response = aResponse('fetch()', sent)
      if (classify === undefined) return { response, controller }
      const judged = await judge(this.#settings, response)
      this.#verdict = judged.verdict
      return { response: judged.response, controller }
    } catch (error) {
      if (!sending) this.#fault = error
      throw error
    }
  }

  /** What follows from an answer. */
  #read({ response }: Attempted, flight: Flight): Outcome {
    return readOutcome(response, this.#parts, this.#settings, flight, this.#course.attempts, this.#verdict)
  }

  /** What follows from an error, if another attempt may help; else it is thrown. */
  #failed(error: unknown, answer: Attempted | undefined, flight: Flight): Outcome {
    const { partition, signal } = this.#parts
    // One of the caller's own functions failed on it.
    cancelBody(answer?.response.body)
    partition.pace.lost(flight)
    if (signal?.aborted || answer || error === this.#fault || !isNetworkError(error)) throw error
    return unansweredOutcome(this.#settings, this.#course.attempts)
  }

  /** A call that got no turn: it ends as its last attempt did where it had one, else with the error. */
  #unsent(error: unknown, aside: Aside | undefined): Response {
    const last = this.#course.isLimited(error) ? aside?.take() : undefined
    if (last !== undefined) return this.#finish(last)
    aside?.drop()
    throw error
  }

  /** A limit counts the call until its caller has read the answer; undefined = nobody will. */
  #follow(response: Response | undefined, flight: Flight): void {
    const { queue } = this.#parts.partition
    if (response === undefined) queue.keep(flight, 0)
    else watchReading(response, new Place(queue, flight), this.#around.leftovers)
  }

  #finish({ response, controller }: Attempted): Response {
    const { signal } = this.#parts
    this.#course.answered(response.status, response)
    if (signal && controller) followBody(response, signal, controller, this.#around.leftovers)
    return response
  }
}

/** Of whichever implementation. */
const aResponse = rule<Response>('a Response', (answer) => {
  const { status, headers } = (answer ?? {}) as Partial<Response>
  return typeof status === 'number' && typeof headers?.get === 'function'
})
