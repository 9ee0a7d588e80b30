import { beforeHead } from './before-head.js'
import type { Denial } from './denial.js'
import { setDenialHead, setDenialHeaders } from './denial-head.js'
import { errorOf } from './error.js'
import { changeHead } from './node-change.js'
import { isGone, type NodeEnding } from './node-end.js'
import type { NodeResponse } from './node-head.js'

/** As much of Node's ServerResponse as is needed to answer. */
export interface NodeAnswer extends NodeResponse {
  readonly destroyed?: boolean
  readonly writableEnded?: boolean
  end(body?: string): unknown
  destroy?(error?: Error): unknown
}

/** Goes on to what comes next; with an error, to the error handlers. */
export type Next = (error?: unknown) => unknown

/**
 * Answers with a refusal. The user's middleware may have wrapped the response's methods: where one of them fails, the
 * error handlers are asked, and nothing of the refusal stays for them; unless the head has been sent, for then the
 * answer can only be cut off. Never throws.
 */
export async function deny(response: NodeAnswer, denial: Denial, next: Next): Promise<void> {
  const change = changeHead(response, denial.status)
  try {
    setDenialHead(change, denial)
    // Node itself leaves the body out of an answer to HEAD.
    change.set('Content-Length', String(denial.body.length))
    await response.end(denial.body)
  } catch (error) {
    change.undo()
    await handToErrors(response, next, error)
    if (response.headersSent) cut(response)
  }
}

/** Who is told what has become of a refusal that the user was let answer. */
export interface HandedOver {
  /** The request does not go on; may be told more than once. */
  refused(): void
  /** The user's function has failed when the request had gone on. */
  failedLate(error: unknown): void
}

/**
 * Lets the user answer. If they pass the request on instead, or fail, nothing of the refusal stays. What they do first
 * counts: a request goes on once, and is nobody's any more who has passed it on. Never throws.
 */
export async function handOver(
  response: NodeAnswer & NodeEnding,
  { status, headers }: Denial,
  next: Next,
  answer: (next: (error?: unknown) => void) => unknown,
  told: HandedOver,
): Promise<void> {
  const change = changeHead(response, status)
  let done = false
  try {
    setDenialHeaders(change, headers)
    // Who begins an answer without having passed the request on has refused it, sooner or later.
    beforeHead(response, () => {
      if (!done) told.refused()
    })
    await answer((error) => {
      if (done) return
      done = true
      // An error passed on is the user's way to answer: status and wait stay for the error handlers.
      if (typeof error !== 'object' || error === null) change.undo()
      if (!goesOn(error)) told.refused()
      void goOn(response, next, error)
    })
    if (!done && (response.headersSent || isGone(response))) told.refused()
  } catch (error) {
    if (done) return told.failedLate(error)
    done = true
    change.undo()
    told.refused()
    await handToErrors(response, next, error)
  }
}

/** Whether Express takes what a request is passed on with for no error. */
function goesOn(error: unknown): boolean {
  return !error || error === 'route' || error === 'router'
}

async function goOn(response: NodeAnswer, next: Next, error: unknown): Promise<void> {
  try {
    await next(error)
  } catch (thrown) {
    await handToErrors(response, next, thrown)
  }
}

/** Hands an error to the error handlers. Where they fail too, nobody is left to answer. Never throws. */
export async function handToErrors(response: NodeAnswer, next: Next, error: unknown): Promise<void> {
  try {
    await next(errorOf('rateLimit', error))
  } catch {
    cut(response)
  }
}

/** Ends the connection of an answer that is not complete and never will be. Never throws. */
function cut(response: NodeAnswer): void {
  try {
    if (response.writableEnded !== true && response.destroyed !== true) response.destroy?.()
  } catch {
    // A method wrapped by the user's middleware fails here too: there is nothing left to try.
  }
}
