import type { Dispatcher } from 'undici'
import type { Base } from '../base.js'
import { Course, type CourseParts } from '../course.js'
import type { Outcome } from '../outcome.js'
import type { Sent } from '../turn.js'
import { Attempt } from './attempt.js'
import { Controller, type Flow } from './controller.js'
import { discard } from './request.js'

type Handler = Dispatcher.DispatchHandler

/**
 * One call of undici: waits for its turn, dispatches, learns from the answer, and does it again where that helps. Its handler hears of
 * one beginning, one answer and one end, however often the call was sent.
 */
export class Exchange {
  readonly controller: Controller
  readonly course: Course
  readonly #base: Base
  readonly #handler: Handler
  readonly #dispatch: (attempt: Attempt) => boolean
  readonly #body: unknown
  readonly #context = { history: [] as URL[] }
  /** The last attempt; while another one waits it is kept aside. */
  #attempt: Attempt | undefined
  /** The partition does not count it among those under way. */
  #settled = true
  #ended = false

  constructor(
    base: Base,
    parts: Omit<CourseParts, 'signal'>,
    dispatch: (attempt: Attempt) => boolean,
    handler: Handler,
    body: unknown,
  ) {
    this.controller = new Controller((reason) => this.#aborted(reason))
    this.course = new Course(base, { ...parts, signal: this.controller })
    this.#base = base
    this.#handler = handler
    this.#dispatch = dispatch
    this.#body = body
  }

  get settings(): Base['settings'] {
    return this.#base.settings
  }

  /** @returns as `dispatch` does: false when the dispatcher has had enough for now */
  start(): boolean {
    this.course.parts.partition.begin()
    this.#settled = false
    try {
      this.#base.begin()
      this.#handler.onRequestStart?.(this.controller, this.#context)
    } catch (error) {
      // The client is closed, or the handler failed.
      this.controller.stop(error as Error)
    }
    return this.controller.aborted || this.#go(0)
  }

  /** Where it has been redirected to so far. */
  get history(): readonly URL[] {
    return this.#context.history
  }

  /** An attempt begins, maybe with what other interceptors tell of it. */
  began(context: object | undefined): void {
    Object.assign(this.#context, context)
  }

  /** An answer came, or (no status) none: it is the call's own, or else the call goes on. */
  judge(outcome: Outcome, status: number | undefined, ending: unknown): boolean {
    if (!this.course.isWorthAnother(outcome, status, ending)) return true
    const pauseMs = outcome.paced ? 0 : outcome.waitMs
    // Not within the callback of the one that is still being read.
    queueMicrotask(() => this.#ended || this.#go(pauseMs))
    return false
  }

  answer(
    inner: Dispatcher.DispatchController,
    status: number,
    fields: Parameters<NonNullable<Handler['onResponseStart']>>[2],
    message: string | undefined,
    flow: Flow,
  ): void {
    this.controller.inner = inner
    this.controller.flows(flow)
    this.#settle()
    this.course.answered(status, fields)
    // Whoever is told of what comes of a call may abort it.
    if (this.controller.aborted) {
      inner.abort(this.controller.reason as Error)
      return
    }
    // The fetch of undici 7 takes the one, that of undici 8 the other.
    if (this.#isFinal(status)) this.controller.added = ['x-should-retry', 'false']
    const told = this.controller.added ? { ...fields, 'x-should-retry': 'false' } : fields
    this.#handler.onResponseStart?.(this.controller, status, told, message)
  }

  /**
   * Whether a client around the fetch that the call comes from should not send it again either: of what is told here, only
   * fields get through a fetch. One whose body could not be repeated here may be repeated there.
   */
  #isFinal(status: number): boolean {
    const { repeatable, target } = this.course.parts
    const retried = repeatable && this.settings.statuses.has(status)
    return retried && !target.bare && target.headers.has('sec-fetch-mode')
  }

  /** Informational answers come before the call's own. */
  inform(...[inner, status, fields, message]: Parameters<NonNullable<Handler['onResponseStart']>>): void {
    this.controller.inner = inner
    this.#handler.onResponseStart?.(this.controller, status, fields, message)
  }

  upgrade(...[inner, status, fields, socket]: Parameters<NonNullable<Handler['onRequestUpgrade']>>): void {
    this.controller.inner = inner
    this.#settle()
    this.#ended = true
    this.#handler.onRequestUpgrade?.(this.controller, status, fields, socket)
  }

  data(chunk: Parameters<NonNullable<Handler['onResponseData']>>[1]): void {
    this.#handler.onResponseData?.(this.controller, chunk)
  }

  end(trailers: Parameters<NonNullable<Handler['onResponseEnd']>>[1]): void {
    if (this.#ended) return
    this.#handler.onResponseEnd?.(this.controller, trailers)
    // What it throws is told to it.
    this.#ended = true
  }

  fail(error: Error): void {
    this.#settle()
    try {
      this.#tellError(error)
    } finally {
      if (this.course.attempts === 0) discard(this.#body, error)
    }
  }

  /** Waits for its turn and is dispatched; at once where nothing holds it back. */
  #go(pauseMs: number): boolean {
    try {
      const turn = this.course.turn(pauseMs)
      if (!(turn instanceof Promise)) return this.#send(turn)
      const over = this.course.budget.spend(turn).then(
        (sent) => this.#send(sent),
        (error) => this.#unsent(error),
      )
      over.catch(thrown)
    } catch (error) {
      queueMicrotask(() => this.#unsent(error as Error))
    }
    return true
  }

  #send(sent: Sent): boolean {
    const { parts } = this.course
    // It may have been aborted after its turn came.
    if (this.controller.aborted) {
      parts.partition.pace.lost(sent.flight)
      parts.partition.queue.landed(parts.route)
      return true
    }
    this.#attempt?.drop()
    this.course.sent(sent)
    const attempt = new Attempt(this, sent.flight)
    this.#attempt = attempt
    try {
      return this.#dispatch(attempt)
    } catch (error) {
      attempt.onResponseError(null, error as Error)
      return true
    }
  }

  /** It got no turn: it ends as its last attempt did where it had one, else with the error. */
  #unsent(error: Error): void {
    if (this.#ended) return
    const attempt = this.#attempt
    if (this.course.isLimited(error) && attempt?.take() === true) return
    attempt?.drop()
    this.fail(error)
  }

  #aborted(reason: Error): void {
    const attempt = this.#attempt
    // One that waits is told by its turn; one on its way by its own end, if it can be stopped already.
    if (attempt?.stop(reason) === true) return
    queueMicrotask(() => this.fail(reason))
  }

  /** The call is over for its partition: its answer has begun, or it failed. */
  #settle(): void {
    if (this.#settled) return
    this.#settled = true
    this.course.parts.partition.end()
    this.#base.end()
  }

  #tellError(error: Error): void {
    if (this.#ended) return
    this.#ended = true
    this.#handler.onResponseError?.(this.controller, error)
  }
}

/** What a handler throws that is told of an error is nobody's to catch, as with undici. */
function thrown(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
