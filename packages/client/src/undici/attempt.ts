import type { Dispatcher } from 'undici'
import { Alarm } from '../alarm.js'
import { mostKept, mostRead } from '../drain.js'
import { mostUnreadMs, readOutcome, unansweredOutcome } from '../outcome.js'
import type { Flight } from '../pace/pace.js'
import { never } from '../pace/quota.js'
import { mostMs } from '../read-some.js'
import { isNetworkError } from '../retry.js'
import type { Exchange } from './exchange.js'
import { headOf } from './head.js'

type Controller = Dispatcher.DispatchController
type Handler = Required<Dispatcher.DispatchHandler>
type Fields = Parameters<Handler['onResponseStart']>[2]
type Chunk = Parameters<Handler['onResponseData']>[1]

/** An answer that is not the call's own, as far as it has come. */
interface Kept {
  readonly status: number
  readonly fields: Fields
  readonly message: string | undefined
  chunks: Chunk[] | undefined
  read: number
  trailers?: Fields
}

/** Calls that make no sense to undici would not at another time either. */
const senseless: readonly unknown[] = [
  ...['UND_ERR_INVALID_ARG', 'UND_ERR_INVALID_RETURN_VALUE', 'UND_ERR_NOT_SUPPORTED', 'UND_ERR_ABORTED'],
  ...['UND_ERR_REQ_CONTENT_LENGTH_MISMATCH', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED'],
]

/** One sending of a call: a handler of undici's, which passes on what is the call's own and keeps aside what is not. */
export class Attempt implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange
  readonly #flight: Flight
  readonly #alarm: Alarm
  #controller: Controller | undefined
  #stopped: Error | undefined
  /** Its flight has landed. */
  #landed = false
  #passes = false
  /** A limit counts the call until its answer has ended. */
  #streams = false
  #kept: Kept | undefined
  #error: Error | undefined

  constructor(exchange: Exchange, flight: Flight) {
    const { clock } = exchange.settings
    const { course } = exchange
    const { timeoutMs } = course
    this.#exchange = exchange
    this.#flight = flight
    this.#alarm = new Alarm(clock, () =>
      this.#landed ? this.#cut() : this.#late(course.timeoutReason(timeoutMs)),
    )
    if (timeoutMs < Number.POSITIVE_INFINITY) this.#alarm.set(clock.now() + timeoutMs)
  }

  onRequestStart(controller: Controller, context: object | undefined): void {
    this.#controller = controller
    if (this.#stopped !== undefined) controller.abort(this.#stopped)
    else this.#exchange.began(context)
  }

  onRequestUpgrade(...upgrade: Parameters<Handler['onRequestUpgrade']>): void {
    this.#lose()
    this.#exchange.upgrade(...upgrade)
  }

  onResponseStart(controller: Controller, status: number, fields: Fields, message?: string): void {
    const exchange = this.#exchange
    if (status < 200) exchange.inform(controller, status, fields, message)
    if (status < 200 || this.#landed) return
    this.#land()
    if (this.#isOwn(status, fields)) {
      this.#passes = true
      exchange.answer(controller, status, fields, message, this.#streams ? this : controller)
      return
    }
    this.#kept = { status, fields, message, chunks: [], read: 0 }
    this.#alarm.set(exchange.settings.clock.now() + mostMs)
  }

  onResponseData(_controller: Controller, chunk: Chunk): void {
    const kept = this.#kept
    if (this.#passes) {
      if (kept === undefined) this.#exchange.data(chunk)
      else kept.chunks?.push(chunk)
      return
    }
    if (kept === undefined) return
    kept.read += chunk.length
    if (kept.read <= mostKept) kept.chunks?.push(chunk)
    else kept.chunks = undefined
    if (kept.read > mostRead) this.#cut()
  }

  onResponseEnd(_controller: Controller, trailers: Fields): void {
    this.#alarm.clear()
    this.#keep(0)
    if (this.#kept !== undefined) this.#kept.trailers = trailers
    else if (this.#passes) this.#exchange.end(trailers)
  }

  onResponseError(_controller: Controller | null, error: Error): void {
    const exchange = this.#exchange
    this.#alarm.clear()
    this.#keep(0)
    if (this.#kept?.trailers !== undefined) return
    if (this.#passes) {
      this.#kept = undefined
      exchange.fail(error)
    } else if (this.#landed) this.#seal()
    else this.#fail(this.#stopped ?? error)
  }

  /** No other attempt is left to be made: its answer is the call's after all, if it is there. */
  take(): boolean {
    if (this.#error !== undefined) this.#exchange.fail(this.#error)
    const kept = this.#kept
    const controller = this.#controller
    if (kept === undefined || controller === undefined) return this.#error !== undefined
    this.#alarm.clear()
    if (kept.chunks === undefined) this.#cut()
    this.#passes = true
    const { status, fields, message } = kept
    this.#guarded(() => this.#exchange.answer(controller, status, fields, message, this))
    this.#play()
    return true
  }

  /** Part of what was kept has been told, or is yet to be. */
  pause(): void {
    this.#keep(this.#exchange.settings.clock.now() + mostUnreadMs)
    if (this.#kept?.trailers === undefined) this.#controller?.pause()
  }

  resume(): void {
    this.#keep(never)
    if (this.#kept?.trailers === undefined) this.#controller?.resume()
    queueMicrotask(() => this.#play())
  }

  /** How long the body counts, if it does: without end while its caller takes it, since its server counts it too. */
  #keep(untilMs: number): void {
    if (!this.#streams) return
    this.#streams = untilMs > 0
    this.#exchange.course.parts.partition.queue.keep(this.#flight, untilMs)
  }

  /** Tells what was kept, for as long as the handler takes it. */
  #play(): void {
    this.#guarded(() => {
      const { controller } = this.#exchange
      for (let kept = this.#kept; kept !== undefined && !controller.paused; kept = this.#kept) {
        const chunk = kept.chunks?.shift()
        if (chunk !== undefined) this.#exchange.data(chunk)
        else {
          if (kept.trailers !== undefined) this.#exchange.end(kept.trailers)
          this.#kept = undefined
        }
      }
    })
  }

  /** What the handler throws ends its call, as where undici tells it. */
  #guarded(tell: () => void): void {
    try {
      tell()
    } catch (error) {
      this.#exchange.controller.stop(error as Error)
    }
  }

  /** Its answer is not needed. What comes of it yet is read, so that its connection can be used again. */
  drop(): void {
    if (this.#kept !== undefined) this.#kept.chunks = undefined
  }

  /** The caller has enough. @returns whether the call's end will be told of by this attempt */
  stop(reason: Error): boolean {
    if (this.#landed && (!this.#passes || this.#kept?.trailers !== undefined)) {
      this.#cut()
      this.#kept = undefined
      return false
    }
    this.#stopped = reason
    if (this.#controller === undefined) this.#lose()
    this.#controller?.abort(reason)
    return this.#controller !== undefined
  }

  /** Whether it is the call's own answer, which what goes wrong with it is told of too. */
  #isOwn(status: number, fields: Fields): boolean {
    const { course, history, settings } = this.#exchange
    const { parts, attempts } = course
    const { partition } = parts
    try {
      const head = headOf(status, fields, history)
      const outcome = readOutcome(head, parts, settings, this.#flight, attempts, undefined)
      this.#streams = outcome.streams
      const own = this.#exchange.judge(outcome, status, fields)
      this.#keep(own ? never : 0)
      return own
    } catch (error) {
      // One of the caller's own functions failed on it.
      this.#passes = true
      partition.pace.lost(this.#flight)
      throw error
    } finally {
      partition.queue.landed(this.#flight.route)
    }
  }

  #late(reason: Error): void {
    this.#stopped = reason
    if (this.#controller === undefined) this.#fail(reason)
    else this.#controller.abort(reason)
  }

  /** No answer came. */
  #fail(error: Error): void {
    const exchange = this.#exchange
    const { course, settings, controller } = exchange
    this.#lose()
    const senseful = !senseless.includes((error as { code?: unknown }).code)
    const mayTryAgain = !controller.aborted && senseful && isNetworkError(error)
    if (mayTryAgain && !exchange.judge(unansweredOutcome(settings, course.attempts), undefined, error))
      this.#error = error
    else exchange.fail(error)
  }

  /** It is not known whether it was counted. */
  #lose(): void {
    if (this.#landed) return
    const { partition } = this.#exchange.course.parts
    this.#land()
    partition.pace.lost(this.#flight)
    partition.queue.landed(this.#flight.route)
  }

  #land(): void {
    this.#landed = true
    this.#alarm.clear()
  }

  /** Ends an answer whose body nobody needs. */
  #cut(): void {
    this.#alarm.clear()
    if (this.#seal()) this.#controller?.abort(new DOMException('The answer is not needed', 'AbortError'))
  }

  /** Leaves of a refusal that has not come to its end its head alone. @returns whether there is one */
  #seal(): boolean {
    const kept = this.#kept
    if (kept === undefined || kept.trailers !== undefined) return false
    kept.chunks = undefined
    kept.trailers = {}
    return true
  }
}
