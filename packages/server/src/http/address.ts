import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

/** What is looked at of a request: the address that the framework found, else the socket's own. */
export interface Addressed {
  /** What the framework takes for the client's address, having judged proxies as it was told to. */
  readonly ip?: string | undefined
  readonly socket?: { readonly remoteAddress?: string | undefined } | null | undefined
}

/** An address in whole. */
export type Address = IPv4 | IPv6

/** Longer than any address with zone, brackets and port; more is not looked at. */
const LONGEST = 100
const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/
const WITH_PORT = /^(\d[\d.]*):\d{1,5}$/
const MAPPED = '::ffff:'
const DOTTED_TAIL = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/

/**
 * The address that a client is counted by: IPv4 as it is, also where it came inside IPv6 (`::ffff:…`,
 * `64:ff9b::…`); IPv6 by its /64, which is what one subscriber gets. Ports, brackets and zones are left out.
 * Proxies are the framework's business: it alone knows whom to trust, and no header is read here.
 *
 * @returns undefined where there is no address: a socket that is gone or local, a text that is not one.
 * @example clientAddress(req) // '203.0.113.7' or '2001:db8:1:2::/64'
 */
export function clientAddress(request: Addressed): string | undefined {
  const given = request.ip ?? request.socket?.remoteAddress
  const usual = typeof given === 'string' && usualIPv4(given)
  if (usual) return usual
  const address = addressIn(given)
  return address === undefined ? undefined : networkOf(address)
}

/** The whole address that a text is: IPv4 also where it is inside IPv6. */
export function addressIn(given: unknown): Address | undefined {
  if (typeof given !== 'string' || given.length > LONGEST) return undefined
  const text = withoutPort(given)
  if (isIPv4(text)) return ipaddr.IPv4.parse(text)
  const [address = ''] = text.split('%', 1)
  const ipv6 = withoutDots(address)
  if (!ipv6.includes(':')) return undefined
  try {
    return unwrapped(ipaddr.IPv6.parse(ipv6))
  } catch {
    // To ask whether it is one would be to parse it twice.
    return undefined
  }
}

/** IPv4 as most requests have it: by itself, or as a socket says that listens on IPv6 too. */
function usualIPv4(text: string): string | undefined {
  const plain = text.startsWith(MAPPED) ? text.slice(MAPPED.length) : text
  return isIPv4(plain) ? plain : undefined
}

/** The whole address that a request came from. */
export function addressOf(request: Addressed): Address | undefined {
  return addressIn(request.ip ?? request.socket?.remoteAddress)
}

/** `2001:db8::192.0.2.1` is `2001:db8::c000:201`, whose two spellings are one client. What is no address stays none. */
function withoutDots(text: string): string {
  const [, head, tail = ''] = DOTTED_TAIL.exec(text) ?? []
  if (head === undefined || !isIPv4(tail)) return text.includes('.') ? '' : text
  const [a = 0, b = 0, c = 0, d = 0] = tail.split('.').map(Number)
  return `${head}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

/** Asked first whether it may be one: of anything else the parser throws, which takes longer than all the rest. */
function isIPv4(text: string): boolean {
  return !text.includes(':') && ipaddr.IPv4.isValidFourPartDecimal(text)
}

function withoutPort(text: string): string {
  return BRACKETED.exec(text)?.[1] ?? WITH_PORT.exec(text)?.[1] ?? text
}

/** IPv4 mapped into IPv6, `::ffff:0:0/96`, or behind a translator, `64:ff9b::/96`. */
function unwrapped(address: IPv6): Address {
  const [a, b, c, d, e, f] = address.parts
  if (c !== 0 || d !== 0 || e !== 0) return address
  const inside = (a === 0 && b === 0 && f === 0xffff) || (a === 0x64 && b === 0xff9b && f === 0)
  return inside ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address
}

/** The form of RFC 5952: of a /64, what is after its last part that is not zero is always the longest row of zeros. */
function networkOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString()
  const parts = address.parts.slice(0, 4)
  while (parts.at(-1) === 0) parts.pop()
  return `${parts.map((part) => part.toString(16)).join(':')}::/64`
}
