import type { Admitted } from '../decision.js'
import type { Limiter } from '../limiter.js'
import type { Answer } from './answer.js'
import type { Attempt } from './attempt.js'
import { textOf } from './error.js'
import type { AnyHttpOptions } from './options.js'
import type { Warn } from './warn.js'

/** What becomes of a charge at the end of its call. */
export interface Outcome {
  /** Whether bytes of answers have to be counted for it. */
  readonly countsBytes: boolean
  /** Gives back the charge, or puts what the call came to in its place; its places are given back in any case. Never rejects. */
  conclude(decision: Admitted, answer: Answer, args: readonly unknown[]): Promise<void>
}

/** @returns undefined where what was charged stays charged */
export function createOutcome(
  adapter: string,
  { chargeWhen, settle }: Pick<AnyHttpOptions, 'chargeWhen' | 'settle'>,
  limiter: Limiter,
  attempt: Attempt,
  warn: Warn,
): Outcome | undefined {
  if (chargeWhen === undefined && settle === undefined) return undefined

  async function isCharged(answer: Answer, args: readonly unknown[]): Promise<boolean> {
    if (typeof chargeWhen === 'function') return chargeWhen(answer, ...args)
    // Hanging up before there is an answer is no way around the limit.
    if (chargeWhen === undefined || answer.status === undefined) return true
    return answer.status >= 400 === (chargeWhen === 'failed')
  }

  /** @returns whether the charge is closed */
  async function close(decision: Admitted, answer: Answer, args: readonly unknown[]): Promise<boolean> {
    if (!(await isCharged(answer, args))) {
      await limiter.refund(decision)
      return true
    }
    const units = await settle?.(answer, ...args)
    if (units === undefined) return false
    await limiter.settle(decision, units)
    return true
  }

  return {
    countsBytes: settle !== undefined || typeof chargeWhen === 'function',
    async conclude(decision, answer, args) {
      try {
        if (await close(decision, answer, args)) return
      } catch (error) {
        warn(
          'outcome',
          `${adapter}: what a call came to could not be charged, so it stays charged as before: ${textOf(error)}`,
        )
      }
      await attempt('release', decision)
    },
  }
}
