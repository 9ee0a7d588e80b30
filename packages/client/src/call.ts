import type { Attempted } from './attempt.js'
import { Course } from './course.js'
import { type Aside, failed, setAside } from './drain.js'
import { type CallParts, fly, type Surroundings } from './fly.js'
import { followBody } from './follow.js'
import type { Sent } from './turn.js'

/** One call of fetch: waits for its turn, sends, learns from the answer, and does it again where that helps. */
export class Call {
  readonly #around: Surroundings
  readonly #parts: CallParts
  readonly #course: Course

  constructor(around: Surroundings, parts: CallParts) {
    this.#around = around
    this.#parts = parts
    this.#course = new Course(around.settings, around.closing, parts)
  }

  async run(): Promise<Response> {
    const { partition, outgoing } = this.#parts
    const course = this.#course
    let aside: Aside | undefined
    partition.begin()
    try {
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
        const { answer, error, outcome } = await fly(this.#around, this.#parts, sent.flight, course)
        const status = answer?.response.status
        if (!course.isWorthAnother(outcome, status, answer === undefined ? error : answer.response)) {
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

  /** A call that got no turn: it ends as its last attempt did where it had one, else with the error. */
  #unsent(error: unknown, aside: Aside | undefined): Response {
    const last = this.#course.isLimited(error) ? aside?.take() : undefined
    if (last !== undefined) return this.#finish(last)
    aside?.drop()
    throw error
  }

  #finish({ response, controller }: Attempted): Response {
    const { signal } = this.#parts
    this.#course.answered(response.status, response)
    if (signal !== undefined && controller !== undefined)
      followBody(response, signal, controller, this.#around.leftovers)
    return response
  }
}
