import type { Seen } from './core.js'
import { seeGuide } from './guide.js'
import type { Warn } from './warn.js'

/** Looks at a call that is counted by its address, for signs that this is not the client's. */
export type AddressWatch = (seen: Seen, address: string | undefined) => void

/** Whom a framework was told to believe about addresses. */
export type Trust = 'none' | 'some' | 'all'

/** So many calls from one address are no chance where there is a proxy that nobody told of. */
const CALLS = 1000
const FORWARDED = ['x-forwarded-for', 'forwarded']
/** The machine itself and private networks, where proxies are; clients seldom. */
const NEAR = /^(127|10|192\.168|172\.(1[6-9]|2\d|3[01])|169\.254)\.|^(::|f[cd][0-9a-f]{2}:|fe80:)/

/** Watches the first calls only, and warns of each thing once. */
export function createAddressWatch(adapter: string, warn: Warn): AddressWatch {
  let first: string | undefined
  let calls = 0
  let forwarded = false

  function watchTrust(trust: Trust | undefined): void {
    if (trust !== 'all') return
    warn(
      'trusts all',
      `${adapter}: every proxy is trusted, so a client chooses its own address by sending X-Forwarded-For, and meets no limit. ` +
        `Trust the proxies that there are, by number or address.${seeGuide('every-proxy-is-trusted')}`,
    )
  }

  function watchForwarded(seen: Seen): void {
    if (forwarded) return
    const name = FORWARDED.find((field) => typeof seen.header(field) === 'string')
    // Last, since to find out whom a framework believes takes longer.
    if (name === undefined || seen.trust?.() !== 'none') return
    forwarded = true
    warn(
      'forwarded',
      `${adapter}: a request has ${name}, and no proxy is trusted, so it was counted by the address of whoever connected. ` +
        `If that is a proxy of yours, all its clients share one bucket: tell the framework of it.${seeGuide('behind-a-proxy')}`,
    )
  }

  function watchSame(address: string): void {
    if (calls >= CALLS) return
    first ??= address
    // One that differs is enough to look no further.
    calls = first === address ? calls + 1 : CALLS + 1
    if (calls !== CALLS || !NEAR.test(address)) return
    warn(
      'one address',
      `${adapter}: the first ${CALLS} calls all came from ${address}. If that is a proxy of yours, all its clients share ` +
        `one bucket: tell the framework of it.${seeGuide('behind-a-proxy')}`,
    )
  }

  return (seen, address) => {
    if (calls === 0) watchTrust(seen.trust?.())
    watchForwarded(seen)
    if (address !== undefined) return watchSame(address)
    warn(
      'no address',
      `${adapter}: a request has no address that it could be counted by, so it is not answered with a count of strangers. ` +
        `Say by partition who calls.${seeGuide('no-address')}`,
    )
  }
}
