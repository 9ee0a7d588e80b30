import type { Check } from '../../call.js'
import type { StoreError } from '../../failure/store-error.js'
import type { BucketOwner, Op, Reply, Trial, TrialReply } from '../../store.js'
import { chargesIn } from '../trials.js'
import type { Apart } from './apart.js'
import { partsOf } from './parts.js'

/** After the op itself is decided, what is tried may take this part of the time that is left. */
const SHARE_OF_REST = 0.25

/**
 * What is tried on a check whose keys lie in several slots is judged beside it, and charged afterwards, while nobody
 * waits. The check itself does not come to harm by it: where a trial is not answered in time, nothing is said of any. By
 * an id only the check is remembered, and under calls made at once a trial may be said to have been charged where
 * somebody else was quicker.
 */
export function withTrialsApart(apart: Apart, slotOf: (owner: BucketOwner) => number): Apart {
  /** The op that is under way in the place of one with trials. */
  const owns = new Map<Op, Op>()

  /** Charges what is tried; of a call that is refused, no places. */
  function charge({ charges }: Trial, lease: string, admitted: boolean): void {
    const taken = admitted ? charges : charges.filter(({ policy }) => policy.algorithm !== 'concurrency')
    if (taken.length === 0) return
    const whole = { kind: 'consume', charges: taken, lease, blocks: [] } as const
    // They were just looked at together; part by part they leave at once, before whatever is asked next.
    for (const { op } of partsOf<Op>(whole, slotOf)) apart.add(op, CHARGE_WITHIN_MS).catch(() => {})
  }

  function settle(op: Check, reply: Reply, looks: readonly Reply[]): readonly TrialReply[] {
    const charging = op.kind === 'consume' && reply.blockedUs === 0 && !reply.replayed
    return looks.map(({ admitted, readings, instants, nowUs }, i) => {
      const trial = op.trials?.[i]
      const taken =
        charging && admitted && trial !== undefined && (trial.mode === 'instead' || reply.admitted)
      if (taken && op.kind === 'consume') charge(trial, op.lease, reply.admitted)
      return { readings, instants: instants ?? readings.map(() => nowUs), taken }
    })
  }

  async function addApart(op: Check, trials: readonly Trial[], deadlineMs: number): Promise<Reply> {
    const { trials: _, ...own } = op
    const sinceMs = performance.now()
    owns.set(op, own)
    try {
      const looks = Promise.all(
        trials.map(({ charges }) => apart.add({ kind: 'peek', charges, blocks: [] }, deadlineMs)),
      ).catch(() => undefined)
      const reply = await apart.add(own, deadlineMs)
      const restMs = Math.max(0, deadlineMs - (performance.now() - sinceMs))
      const said = await within(looks, restMs * SHARE_OF_REST)
      return said === undefined ? reply : { ...reply, trials: settle(op, reply, said) }
    } finally {
      owns.delete(op)
    }
  }

  return {
    async add(op, deadlineMs) {
      if ((op.kind !== 'consume' && op.kind !== 'peek') || op.trials === undefined)
        return apart.add(op, deadlineMs)
      if (partsOf({ ...op, charges: chargesIn(op) }, slotOf).length === 1) return apart.add(op, deadlineMs)
      return addApart(op, op.trials, deadlineMs)
    },
    withdraw: (op): StoreError | undefined => apart.withdraw(owns.get(op) ?? op),
  }
}

/** Nobody waits for it, but it must not wait for ever. */
const CHARGE_WITHIN_MS = 2000

/** What a promise comes to within some time, else undefined. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
    timer.unref()
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
