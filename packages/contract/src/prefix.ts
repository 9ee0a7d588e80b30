import { checkBytes, checkString } from './check.js'
import { writeList } from './structured-field.js'

/**
 * The name of a policy as it stands on the wire, quotes included: `"burst"`. For a server that states
 * the same policy on every answer: write the name once, and append `;r=5;t=3` to it each time. The
 * numbers appended are then the server's own to check (whole, from 0 to 999999999999999).
 *
 * @throws TypeError or RangeError when the name is not a string of printable ASCII characters.
 */
export function policyPrefix(name: string): string {
  return writeList([[checkString('policy', name), []]])
}

/**
 * The parameter that carries a partition key, `;pk=:cm91dGU=:`, to append to a member in the same way.
 *
 * @throws TypeError when `bytes` is not a Uint8Array.
 */
export function partitionKeyParameter(bytes: Uint8Array): string {
  return writeList([['', [['pk', checkBytes('partitionKey', bytes)]]]]).slice('""'.length)
}
