import type { Clock } from '@ratepact/contract'
import type { Admitted } from '../decision.js'
import type { Limiter } from '../limiter.js'
import type { Policy } from '../policy.js'
import type { Answer } from './answer.js'
import type { Attempt } from './attempt.js'
import type { Denied } from './denial.js'
import type { Outcome } from './outcome.js'
import { allOf } from './partition.js'
import { refusedForDelay } from './too-long.js'

/** How long a request stays with an adapter: until its client has gone or its answer is complete. */
export interface Stay {
  onEnd(listener: () => void): void
  /** What its answer has come to, asked at its end. */
  answer(): Answer
  /** Ends the stay of an answer that nobody takes. An adapter whose framework tells of every end has none. */
  giveUp?(): void
  /** Whether anybody has taken anything of the answer since this was last asked, or is waiting for it. */
  moved?(): boolean
}

/** What an admission asks of an adapter besides going on: to hold the call, and to give places back at its end. */
export interface Holder {
  /**
   * Holds an admitted call for as long as it must be. Its places are kept meanwhile and while it runs, and given back
   * when it ends, however it ends.
   * @param stayFor says how long the call stays; nothing of a call whose end is not told
   * @returns the decision once it may go on; a refusal where it would be held too long; undefined when the client
   * has gone meanwhile, and what it was charged has been given back
   * @throws what methods of the answer throw, which are the framework's or its user's; nothing stays charged then
   */
  hold(
    decision: Admitted,
    stayFor: (() => Stay) | undefined,
    args: readonly unknown[],
  ): Promise<Admitted | Denied | undefined>
}

/** No adapter holds a request for longer. */
const LONGEST_SECONDS = 10
/** So often a place is made to last anew within its lease: twice it may fail. */
const RENEWALS = 3

/** What a holder holds for. */
export interface HolderOf {
  readonly limiter: Limiter
  readonly attempt: Attempt
  /** What becomes of charges at the end. */
  readonly outcome: Outcome | undefined
  /** What it waits by, and makes places last by. */
  readonly clock: Clock
}

/** Whether a policy may have an admitted call held. */
function mayHold({ algorithm, holdUs }: Policy): boolean {
  return algorithm === 'leaky-bucket' || holdUs !== undefined
}

/** @returns undefined where no policy ever asks for either */
export function createHolder({ limiter, attempt, outcome, clock }: HolderOf): Holder | undefined {
  const leases = allOf(limiter).flatMap((policy) =>
    policy.algorithm === 'concurrency' ? [policy.leaseUs] : [],
  )
  if (leases.length === 0 && outcome === undefined && !limiter.policies.some(mayHold)) return undefined
  // What is only tried ends nothing.
  const givesUp = limiter.policies.some(({ algorithm }) => algorithm === 'concurrency')
  const renewMs = Math.min(...leases) / 1000 / RENEWALS

  /** Makes places last until it is told to stop, or until nobody has taken anything of the answer for a whole lease. */
  function keepPlaces(decision: Admitted, stay: Stay): () => void {
    let idle = 0
    let renewal: unknown
    function arm(): void {
      renewal = clock.setTimeout(renew, renewMs)
      // Who still takes the answer keeps the process alive, not we.
      ;(renewal as { unref?: () => void } | undefined)?.unref?.()
    }
    function renew(): void {
      // Before anything that may stop it.
      arm()
      idle = stay.moved?.() === false ? idle + 1 : 0
      if (idle === 0) void attempt('renew', decision)
      else if (idle >= RENEWALS && givesUp) stay.giveUp?.()
    }
    arm()
    return () => clock.clearTimeout(renewal)
  }

  return {
    async hold(decision, stayFor, args) {
      const { delaySeconds } = decision
      if (delaySeconds > LONGEST_SECONDS) {
        await attempt('refund', decision)
        return refusedForDelay(decision, LONGEST_SECONDS)
      }
      let stop: (() => void) | undefined
      try {
        const stay = stayFor?.()
        if (leases.length > 0 && stay !== undefined) stop = keepPlaces(decision, stay)
        if (delaySeconds > 0 && !(await staysFor(delaySeconds * 1000, stay, clock))) {
          stop?.()
          await attempt('refund', decision)
          return undefined
        }
        if (stop !== undefined || outcome !== undefined)
          stay?.onEnd(() => {
            stop?.()
            void (outcome === undefined
              ? attempt('release', decision)
              : outcome.conclude(decision, stay.answer(), args))
          })
        return decision
      } catch (error) {
        stop?.()
        await attempt('refund', decision)
        throw error
      }
    },
  }
}

/** Keeps the process alive meanwhile, unlike a renewal: somebody waits for what comes after it. */
function staysFor(ms: number, stay: Stay | undefined, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = clock.setTimeout(() => resolve(true), ms)
    stay?.onEnd(() => {
      clock.clearTimeout(timer)
      resolve(false)
    })
  })
}
