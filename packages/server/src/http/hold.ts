import type { Admitted, Decision } from '../decision.js'
import type { Limiter } from '../limiter.js'
import type { Denied } from './denial.js'

/** Tells when the client has gone or its answer is complete. */
export type OnEnd = (listener: () => void) => void

/** What an admission asks of an adapter besides going on: to hold the call, and to give places back at its end. */
export interface Holder {
  /**
   * Holds an admitted call for as long as it must be.
   * @returns the decision once it may go on; a refusal where it would be held too long; undefined when the client
   * has gone meanwhile, and what it was charged has been given back
   */
  hold(decision: Admitted, onEnd: OnEnd): Promise<Admitted | Denied | undefined>
}

/** No adapter holds a request for longer. */
const LONGEST_SECONDS = 10
/** A place is made to last anew after this part of its lease: twice it may fail. */
const RENEW_AFTER = 1 / 3

/** @returns undefined where no policy ever asks for either */
export function createHolder(limiter: Limiter): Holder | undefined {
  const queues = limiter.policies
    .filter(({ algorithm }) => algorithm === 'leaky-bucket')
    .map(({ name }) => name)
  const leases = limiter.policies.flatMap((policy) =>
    policy.algorithm === 'concurrency' ? [policy.leaseUs] : [],
  )
  if (queues.length === 0 && leases.length === 0) return undefined
  const renewMs = (Math.min(...leases) / 1000) * RENEW_AFTER

  /** Places are kept while the call runs, and given back when it ends, however it ends. */
  function keepPlaces(decision: Decision, onEnd: OnEnd): void {
    const renewal = setInterval(() => void limiter.renew(decision), renewMs)
    unref(renewal)
    onEnd(() => {
      clearInterval(renewal)
      void limiter.release(decision)
    })
  }

  async function holdFor(decision: Admitted, onEnd: OnEnd): Promise<Admitted | undefined> {
    const passed = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(true), decision.delaySeconds * 1000)
      onEnd(() => {
        clearTimeout(timer)
        resolve(false)
      })
    })
    if (passed) return decision
    await limiter.refund(decision)
    return undefined
  }

  return {
    async hold(decision, onEnd) {
      if (decision.delaySeconds > LONGEST_SECONDS) {
        await limiter.refund(decision)
        return tooLong(decision, queues)
      }
      if (decision.delaySeconds > 0 && (await holdFor(decision, onEnd)) === undefined) return undefined
      if (leases.length > 0) keepPlaces(decision, onEnd)
      return decision
    },
  }
}

/** The refusal of a call that found a place, but too far behind. */
function tooLong({ limits, delaySeconds, source }: Admitted, violated: readonly string[]): Denied {
  return {
    outcome: 'refused',
    allowed: false,
    limits,
    violated,
    retryAfterSeconds: delaySeconds - LONGEST_SECONDS,
    source,
  }
}

function unref(timer: unknown): void {
  ;(timer as { unref?: () => void }).unref?.()
}
