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
  if (typeof given === 'string' && ipaddr.IPv4.isValidFourPartDecimal(given)) return given
  const address = addressIn(given)
  return address === undefined ? undefined : networkOf(address)
}

/** The whole address that a text is: IPv4 also where it is inside IPv6. */
export function addressIn(given: unknown): Address | undefined {
  if (typeof given !== 'string' || given.length > LONGEST) return undefined
  const text = withoutPort(given)
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text)
  const [address = ''] = text.split('%', 1)
  const ipv6 = withoutDots(address)
  return ipaddr.IPv6.isValid(ipv6) ? unwrapped(ipaddr.IPv6.parse(ipv6)) : undefined
}

/** The whole address that a request came from. */
export function addressOf(request: Addressed): Address | undefined {
  return addressIn(request.ip ?? request.socket?.remoteAddress)
}

/** `2001:db8::192.0.2.1` is `2001:db8::c000:201`, whose two spellings are one client. What is no address stays none. */
function withoutDots(text: string): string {
  const [, head, tail = ''] = DOTTED_TAIL.exec(text) ?? []
  if (head === undefined || !ipaddr.IPv4.isValidFourPartDecimal(tail)) return text.includes('.') ? '' : text
  const [a = 0, b = 0, c = 0, d = 0] = tail.split('.').map(Number)
  return `${head}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

function withoutPort(text: string): string {
  return BRACKETED.exec(text)?.[1] ?? WITH_PORT.exec(text)?.[1] ?? text
}

function unwrapped(address: IPv6): Address {
  const range = address.range()
  if (range !== 'ipv4Mapped' && range !== 'rfc6052') return address
  return new ipaddr.IPv4(address.toByteArray().slice(12))
}

function networkOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString()
  return `${new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toRFC5952String()}/64`
}
