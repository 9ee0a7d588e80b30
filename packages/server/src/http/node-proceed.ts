import type { Gate, Seen } from './core.js'
import type { Denied } from './denial.js'
import { textOf } from './error.js'
import { deny, handOver, handToErrors, type Next } from './node-answer.js'
import { type NodeState, nodeStayOf, verdictOn } from './node-judge.js'

/**
 * Lets a request go on, or answers it: by the user's function where there is one. Whatever fails, the methods that other
 * middleware has wrapped included, is an error like the handlers' own. Never throws.
 */
export async function proceed<Args extends readonly unknown[]>(
  gate: Gate<Args>,
  args: Args,
  seen: Seen,
  response: NodeState,
  next: Next,
  onDenied: ((next: Next, decision: Denied) => unknown) | undefined,
): Promise<void> {
  try {
    const sentBefore = response.headersSent
    const decided = gate.decide(args, seen, nodeStayOf)
    // One wait and no more: each costs.
    const decision = decided instanceof Promise ? await decided : decided
    const verdict = verdictOn(decision, gate, seen, response, sentBefore, onDenied !== undefined)
    if (verdict === 'over') return
    if (verdict === 'pass') {
      const going = next()
      if (going !== undefined) await going
      return
    }
    const denial = gate.denial(verdict, seen)
    if (onDenied === undefined) return await deny(response, denial, next)
    return await handOver(response, denial, next, (own) => onDenied(own, verdict), {
      refused: () => gate.enter(verdict, seen),
      failedLate: (error) =>
        gate.warn('onDenied', `onDenied failed after it had let a call pass: ${textOf(error)}`),
    })
  } catch (error) {
    await handToErrors(response, next, error)
  }
}
