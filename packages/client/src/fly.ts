import { type Attempted, attempt } from './attempt.js'
import type { Outgoing } from './body.js'
import { cancelBody } from './cancel.js'
import { rule } from './check.js'
import type { Course, CourseParts } from './course.js'
import type { Leftovers } from './follow.js'
import type { Settings } from './options.js'
import { type Outcome, readOutcome, unansweredOutcome } from './outcome.js'
import type { Flight } from './pace/pace.js'
import { peekAt } from './peek.js'
import { isNetworkError } from './retry.js'
import { readVerdict, type Verdict } from './retry-options.js'
import type { StopSignal } from './stop-signal.js'
import type { FetchInput } from './target.js'

/** What all calls of a client share. */
export interface Surroundings {
  readonly settings: Settings
  readonly send: (input: FetchInput, init: RequestInit) => Promise<Response>
  /** Aborted when the client is closed. */
  readonly closing: StopSignal
  readonly leftovers: Leftovers
}

/** What one call is made of. */
export interface CallParts extends CourseParts {
  readonly outgoing: Outgoing
}

/** What came of one attempt: an answer, or an error after which another attempt may help. */
export type Ended = { readonly outcome: Outcome } & (
  | { readonly answer: Attempted; readonly error?: never }
  | { readonly answer?: never; readonly error: unknown }
)

/** Sends once, and tells the partition what came of it. Rejects when no other attempt would help. */
export async function fly(
  around: Surroundings,
  parts: CallParts,
  flight: Flight,
  course: Course,
): Promise<Ended> {
  const { partition, target, signal } = parts
  const { settings } = around
  const { clock } = settings
  const { attempts } = course
  let verdict: Verdict
  // What one of the caller's own functions failed with, which says nothing of the network.
  let fault: unknown
  const send = async (own?: AbortSignal): Promise<Response> => {
    let sending = false
    try {
      const { input, init } = await parts.outgoing.next(attempts >= settings.maxAttempts)
      sending = true
      const sent = await around.send(input, own === undefined ? init : { ...init, signal: own })
      sending = false
      const response = aResponse('fetch()', sent)
      if (settings.classify === undefined) return response
      const judged = await judgedBy(settings, response)
      verdict = judged.verdict
      return judged.response
    } catch (error) {
      if (!sending) fault = error
      throw error
    }
  }
  const { timeoutMs, timeoutReason } = course.limit()
  let answer: Attempted | undefined
  try {
    answer =
      signal === undefined && timeoutMs === Number.POSITIVE_INFINITY
        ? { response: await send(), controller: undefined }
        : await attempt(send, { clock, signal, timeoutMs, timeoutReason })
    const about = { partition, flight, attempts, verdict }
    return {
      answer,
      outcome: readOutcome(
        answer.response,
        { location: target.location, route: parts.route },
        settings,
        about,
      ),
    }
  } catch (error) {
    // One of the caller's own functions failed on it.
    cancelBody(answer?.response.body)
    partition.pace.lost(flight)
    if (signal?.aborted || answer !== undefined || error === fault || !isNetworkError(error)) throw error
    return { error, outcome: unansweredOutcome(settings, attempts) }
  } finally {
    partition.queue.landed(flight.route)
  }
}

/** Of whichever implementation. */
const aResponse = rule<Response>('a Response', (answer) => {
  const { status, headers } = (answer ?? {}) as Partial<Response>
  return typeof status === 'number' && typeof headers?.get === 'function'
})

async function judgedBy(
  { classify, clock }: Settings,
  answer: Response,
): Promise<{ response: Response; verdict: Verdict }> {
  let peeking: ReturnType<typeof peekAt> | undefined
  const peek = async (): Promise<string> => {
    peeking ??= peekAt(answer, clock)
    return (await peeking).text
  }
  try {
    const verdict = readVerdict(await classify?.(answer, peek))
    return { response: (await peeking)?.response ?? answer, verdict }
  } catch (error) {
    cancelBody((await peeking)?.response.body ?? answer.body)
    throw error
  }
}
