import type { Check } from '../call.js'
import { show } from '../expect.js'
import type { Policy } from '../policy.js'
import type { Charge, Op, Reply, Store } from '../store.js'
import { StoreError } from './store-error.js'

/**
 * The reply to an op. A store may be anybody's: what it answers is looked at before it is believed.
 * @throws StoreError when it is none
 */
export function replyIn(replies: readonly Reply[], op: Op, store: Store): Reply {
  const reply = Array.isArray(replies) ? replies[0] : undefined
  if (isReply(reply, op)) return reply
  throw new StoreError('error', `The store ${show(store.name)} gave an answer that is none`)
}

function isReply(reply: Reply | undefined, op: Op): reply is Reply {
  if (typeof reply !== 'object' || reply === null || typeof reply.admitted !== 'boolean') return false
  const { readings, healed, nowUs, blockedUs, trials: said, instants, instances } = reply
  if (!areReadings(readings, chargesRead(op)) || !areCounts(healed)) return false
  if (!isCount(nowUs) || !(blockedUs >= 0)) return false
  if (instances !== undefined && !areCounts(instances)) return false
  if (instants !== undefined && !(areCounts(instants) && instants.length === readings.length)) return false
  if (said === undefined) return true
  // A store may know nothing of trials; then nothing is said of them.
  const { trials = [] } = op as Partial<Check>
  return Array.isArray(said) && said.every((one, i) => areReadings(one?.readings, trials[i]?.charges))
}

const NONE: readonly Charge[] = []

/** What an op has the store read. */
function chargesRead(op: Op): readonly Pick<Charge, 'policy'>[] {
  if (op.kind === 'advance') return [op.advance]
  return op.kind === 'consume' || op.kind === 'peek' ? op.charges : NONE
}

/** Whether each is as many whole numbers as there are to be read of its policy. */
function areReadings(readings: unknown, charges: readonly Pick<Charge, 'policy'>[] | undefined): boolean {
  if (!Array.isArray(readings) || readings.length !== charges?.length) return false
  for (let i = 0; i < readings.length; i += 1) {
    const { policy } = charges[i] as Pick<Charge, 'policy'>
    const reading: unknown = readings[i]
    if (!Array.isArray(reading) || reading.length < numbersOf(policy)) return false
    if (!reading.every(isCountAt)) return false
  }
  return true
}

/** What is free of a window ahead, which may be less than none; a log's and a counter's third number never is. */
const MAY_BE_OWED = 2

function isCountAt(value: unknown, nth: number): boolean {
  return isCount(nth === MAY_BE_OWED && typeof value === 'number' ? Math.abs(value) : value)
}

/** How many numbers at least are to be read of a policy; see `Reading`. */
function numbersOf({ algorithm, holdUs }: Policy): number {
  if (algorithm === 'fixed-window') return holdUs === undefined ? 2 : 3
  return algorithm === 'sliding-window-counter' || algorithm === 'sliding-window-log' ? 4 : 1
}

function areCounts(values: unknown): values is readonly number[] {
  return Array.isArray(values) && values.every(isCount)
}

/** More than any count or instant (µs). It is beyond exact numbers: a clock may be set thousands of years ahead. */
const MOST = 2 ** 60

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MOST
}
