import type { Check } from '../call.js'
import type { Charge } from '../store.js'

/** All charges of a check: its own, then those of its trials. */
export function chargesIn({ charges, trials }: Check): readonly Charge[] {
  return trials === undefined ? charges : charges.concat(trials.flatMap((trial) => trial.charges))
}

/** One character for each trial: how it is charged. */
export function modesIn({ trials }: Check): string {
  if (trials === undefined) return ''
  return trials.map(({ mode }) => (mode === 'beside' ? 'b' : 'i')).join('')
}

/** For each charge of a check with trials, of which it is, from 1 on; 0 for those of the check itself. */
export function groupsIn({ charges, trials }: Check): readonly number[] | undefined {
  if (trials === undefined) return undefined
  return charges.map(() => 0).concat(trials.flatMap((trial, i) => trial.charges.map(() => i + 1)))
}

/** What tells trials of the same charges apart. */
export function sizesIn({ trials }: Check): string | undefined {
  return trials?.map(({ mode, charges }) => `${mode} ${charges.length}`).join()
}
