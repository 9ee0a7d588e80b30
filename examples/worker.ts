// A worker that calls something with a limit of its own: before each job it asks, and waits for as long as it is told.
// All workers that share the store share the limit.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Limiter } from '@ratepact/server'

const LONGEST_WAIT_SECONDS = 60

/** Takes jobs until there are none or it is told to stop; a job that it has taken it does. */
export async function work<Job>(
  limiter: Limiter<string, 'client'>,
  next: () => Job | undefined,
  run: (job: Job) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    if (!(await mayGoOn(limiter, signal))) return
    const job = next()
    if (job === undefined) return
    await run(job)
  }
}

/** @returns false when it was told to stop meanwhile */
async function mayGoOn(limiter: Limiter<string, 'client'>, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const decision = await limiter.consume('suppliers-api')
    if (decision.allowed) return true
    if (!('retryAfterSeconds' in decision) || decision.retryAfterSeconds === undefined)
      throw new Error(`No job can ever be done: ${decision.outcome}`)
    const seconds = Math.min(decision.retryAfterSeconds, LONGEST_WAIT_SECONDS)
    await sleep(seconds * 1000, undefined, { signal }).catch(() => {})
  }
  return false
}
