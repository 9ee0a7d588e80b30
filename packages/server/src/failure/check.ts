import type { Clock } from '@ratepact/contract'
import { expected } from '../expect.js'
import type { Finding, Store } from '../store.js'
import { createDeadline } from './deadline.js'
import { asStoreError } from './store-error.js'

const WITHIN_MS = 5000

/** What a store finds wrong with how it is set up; that it could not say so is a finding too. */
export async function checkStore(store: Store, clock: Clock): Promise<readonly Finding[]> {
  try {
    if (store.check === undefined) return []
    return await createDeadline(clock, WITHIN_MS).race(Promise.resolve(store.check()), read)
  } catch (error) {
    return [
      {
        code: 'unreachable',
        severity: 'error',
        problem: `The store could not be checked: ${asStoreError(error).message}`,
        remedy: 'See that the store runs and can be reached from here.',
      },
    ]
  }
}

function read(findings: unknown): readonly Finding[] {
  if (!Array.isArray(findings))
    throw new TypeError(expected('what check() gives', 'a list of findings', findings))
  return findings
}
