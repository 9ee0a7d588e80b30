import type { Decision } from '../decision.js'
import { beforeHead } from './before-head.js'
import type { Gate, Seen } from './core.js'
import type { Denied } from './denial.js'
import { errorOf } from './error.js'
import type { Stay } from './hold.js'
import type { NodeAnswer } from './node-answer.js'
import { isGone } from './node-end.js'
import { createNodeStay, type NodeSent } from './node-stay.js'

/** As much of Node's response as is needed to answer, and to tell how that ends. */
export interface NodeState extends NodeAnswer, Omit<NodeSent, keyof NodeAnswer> {}

/**
 * What becomes of a request: it may go on; it is answered already, or nobody waits for its answer any more; or it is
 * denied and has to be told so.
 */
export type Verdict = 'pass' | 'over' | Denied

/**
 * Asks about a request whose answer is a Node response, and has the limits stated on that.
 * @throws what `decide` throws, as an object, and an Error where a request is refused whose answer has begun
 */
export async function judge<Args extends readonly unknown[]>(
  gate: Gate<Args>,
  args: Args,
  seen: Seen,
  response: NodeState,
): Promise<Verdict> {
  const sentBefore = response.headersSent
  try {
    const decided = gate.decide(args, seen, nodeStayOf)
    return verdictOn(decided instanceof Promise ? await decided : decided, gate, seen, response, sentBefore)
  } catch (error) {
    throw errorOf('rateLimit', error)
  }
}

/** For how long a request stays whose limiters are handed its Node response. */
export function nodeStayOf(shared: object, countsBytes: boolean): Stay {
  return createNodeStay(shared as NodeState, countsBytes)
}

/**
 * The verdict by what has been decided, for who has asked by themselves: one wait less than `judge`.
 * @param sentBefore whether the head was sent before the limiter was asked
 * @param mayGoOn whether somebody may yet let a denied request go on: who denies it in the end has it `enter` then
 */
export function verdictOn(
  decision: Decision | 'gone' | undefined,
  gate: Gate<never>,
  seen: Seen,
  response: NodeState,
  sentBefore: boolean,
  mayGoOn = false,
): Verdict {
  // Somebody (a timeout, say) has answered while we asked or held: a handler could only fail.
  const answered = response.headersSent && !sentBefore
  const isOpen = mayGoOn && isDenied(decision) && !response.headersSent && !isOver(response)
  if (decision !== undefined && !isOpen) gate.enter(decision, seen)
  if (decision === 'gone' || answered) return 'over'
  if (decision === undefined) return 'pass'
  if (!response.headersSent) {
    const statement = gate.statement(decision, seen)
    if (statement !== undefined) beforeHead(response, statement)
  }
  // A client that has gone is counted and served like any other: it may have wanted the effect only, as a
  // beacon does, and were it not counted, hanging up early would be a way around the limit.
  if (decision.allowed) return 'pass'
  if (isOver(response)) return 'over'
  // Half an answer is on its way and the rest may not be made: the framework ends the connection on an error then.
  if (response.headersSent)
    throw new Error('rateLimit refused a request whose answer had begun: put it before what sends headers')
  return decision
}

function isDenied(decision: Decision | 'gone' | undefined): boolean {
  return decision !== undefined && decision !== 'gone' && !decision.allowed
}

/** Whether there is nothing left to be answered. */
function isOver(response: NodeState): boolean {
  return response.writableEnded === true || isGone(response)
}
