import type { Denial } from './denial.js'
import { setDenialHead, setDenialHeaders } from './denial-head.js'
import { errorOf } from './error.js'
import { changeHead } from './node-change.js'
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

/** Lets the user answer. If they pass the request on instead, or fail, nothing of the refusal stays. Never throws. */
export async function handOver(
  response: NodeAnswer,
  { status, headers }: Denial,
  next: Next,
  answer: (next: (error?: unknown) => void) => unknown,
): Promise<void> {
  const change = changeHead(response, status)
  try {
    setDenialHeaders(change, headers)
    await answer((error) => {
      // An error passed on is the user's way to answer: status and wait stay for the error handlers.
      if (typeof error !== 'object' || error === null) change.undo()
      void goOn(response, next, error)
    })
  } catch (error) {
    change.undo()
    await handToErrors(response, next, error)
  }
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
