import { type Backoff, backoffMs } from './backoff.js'
import { mostKept } from './drain.js'
import type { Settings } from './options.js'
import type { Flight } from './pace/pace.js'
import { never } from './pace/quota.js'
import type { Partition } from './partition.js'
import { type Place, type Reading, readAnswer } from './read.js'
import { readAdvice } from './retry.js'
import type { Verdict } from './retry-options.js'

/** An answer, and what follows from it for its partition and its call. */
export interface Outcome {
  readonly reading?: Reading
  /** Whether it says that a limit is exhausted. */
  readonly limited: boolean
  /** Whether that limit is the partition's, so that the pace holds back all calls and not this one alone. */
  readonly paced: boolean
  /** What is said of a retry, over all rules. */
  readonly advice: boolean | undefined
  /** How long to wait before another attempt. */
  readonly waitMs: number
  /** Whether a limit counts the call until the answer's body has ended, or nobody has read it for long. */
  readonly streams: boolean
}

/** For so long a body that nobody reads takes a place: its server may have sent it all long ago. */
export const mostUnreadMs = 5000

/** Reads the answer to one attempt and tells the partition. */
export function readOutcome(
  response: Response,
  place: Place & { readonly partition: Partition },
  settings: Settings,
  flight: Flight,
  attempts: number,
  judged: Verdict,
): Outcome {
  const { statuses, clock, backoff, random, dialect } = settings
  const { status } = response
  const { partition } = place
  const { streak, pace, queue } = partition
  const reading = readAnswer(response, place, dialect, judged === 'limited')
  const verdict = judged ?? (reading.limited ? 'limited' : undefined)
  const failed = status >= 400 || verdict === 'limited'
  const seemsSo = status === 429 || (statuses.has(status) && reading.hintMs !== undefined)
  const limited = verdict === undefined ? seemsSo : verdict === 'limited'
  const paced = limited && reading.own
  const refusals = paced ? streak.refused(flight.sentAtMs, clock.now()) : 0
  const waitMs = failed ? retryWaitMs(reading.hintMs, Math.max(refusals, attempts), backoff, random) : 0
  const { limits, policies, silent } = reading
  if (!paced) streak.accepted(flight.sentAtMs)
  if (paced) partition.blocked(clock.now() + waitMs)
  let streams = false
  if (paced) pace.answered(flight, { outcome: 'refused', limits, policies, retryAfterMs: waitMs })
  else {
    const answer = { outcome: 'accepted', limits, policies, silent } as const
    streams = pace.answered(flight, answer) && !isWhole(response)
  }
  if (streams) queue.keep(flight, clock.now() + mostUnreadMs)
  const advice = verdict === undefined ? readAdvice(response) : limited
  return { reading, limited, paced, advice, waitMs, streams }
}

/** What a server states to be so short it has sent with the head of the answer. */
function isWhole({ body, headers }: Response): boolean {
  return body === null || Number(headers.get('content-length') ?? never) <= mostKept
}

/** What follows when no answer came. */
export function unansweredOutcome({ backoff, random }: Settings, attempts: number): Outcome {
  const waitMs = backoffMs(backoff, attempts, random)
  return { limited: false, paced: false, advice: undefined, waitMs, streams: false }
}

/**
 * How long to wait after an answer. The server's hint is never undercut; where it says nothing, or says
 * "now" and so nothing, the backoff decides.
 *
 * @param refusals how many in a row, this one included
 */
function retryWaitMs(
  hintMs: number | undefined,
  refusals: number,
  backoff: Backoff,
  random: () => number,
): number {
  if (hintMs === undefined || !(hintMs > 0)) return backoffMs(backoff, refusals, random)
  return Math.max(hintMs, leastMs(refusals))
}

/** Grows with each refusal in a row, for servers whose hint is shorter than their limit. */
function leastMs(refusals: number): number {
  return refusals <= 1 ? 0 : Math.min(50 * 2 ** Math.min(refusals - 2, 20), 10_000)
}
