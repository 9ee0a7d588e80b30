import type ipaddr from 'ipaddr.js'
import { expected } from '../expect.js'
import { type Address, addressIn } from './address.js'

/** Longer lists belong in `skip`, where they can be looked up in other ways. */
const LONGEST_LIST = 1000

/**
 * Whether an address is in a list of addresses and ranges.
 * @throws TypeError naming what is neither
 */
export function createAddressList(option: string, given: unknown): (address: Address | undefined) => boolean {
  if (!Array.isArray(given) || given.length > LONGEST_LIST)
    throw new TypeError(expected(option, `an array of at most ${LONGEST_LIST} addresses and ranges`, given))
  // Not map, which passes holes over.
  const ranges = Array.from(given, (entry) => rangeOf(option, entry))
  return (address) =>
    address !== undefined &&
    ranges.some(
      ([first, bits]) => first.kind() === address.kind() && (address as ipaddr.IPv6).match(first, bits),
    )
}

/** `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`. */
function rangeOf(option: string, entry: unknown): [first: ipaddr.IPv6, bits: number] {
  const [text = '', bits, ...more] = typeof entry === 'string' ? entry.split('/') : []
  const first = addressIn(text)
  const most = first?.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? most : /^(0|[1-9]\d{0,2})$/.test(bits) ? Number(bits) : Number.NaN
  // Of IPv4 inside IPv6 the bits would be counted from elsewhere.
  const mixed = bits !== undefined && most === 32 && text.includes(':')
  if (first === undefined || mixed || text.includes('%') || more.length > 0 || !(length <= most))
    throw new TypeError(expected(`${option}[…]`, 'an address or a range such as "203.0.113.0/24"', entry))
  return [first as ipaddr.IPv6, length]
}
