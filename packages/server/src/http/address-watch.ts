import { clientAddress } from './address.js'
import type { Seen } from './core.js'
import { seeGuide } from './guide.js'
import type { Warn } from './warn.js'

/** Looks at calls of which the address decides something, for signs that this is not the client's. */
export interface AddressWatch {
  /** Looks at a call that is counted by its address. */
  counted(seen: Seen, address: string | undefined): void
  /** Looks at a call that is counted by what the user says, whether that is its address. The first calls only. */
  given(seen: Seen, partition: unknown): void
  /** Looks at a call whose address is looked for in lists. */
  listed(seen: Seen): void
}

/** Whom a framework was told to believe about addresses. */
export type Trust = 'none' | 'some' | 'all'

/** Of no network that there is: they are for documentation. */
const ANYBODY = ['192.0.2.1', '198.51.100.1', '203.0.113.1']
/** More proxies than anybody has, one behind the other. */
const MOST_PROXIES = 1000
/** So many calls from one address are no chance where there is a proxy that nobody told of. */
const CALLS = 1000
const FORWARDED = ['x-forwarded-for', 'forwarded']
/** The machine itself and private networks, where proxies are; clients seldom. */
const NEAR = /^(127|10|192\.168|172\.(1[6-9]|2\d|3[01])|169\.254)\.|^(::|f[cd][0-9a-f]{2}:|fe80:)/

/** Watches the first calls only, and warns of each thing once. */
export function createAddressWatch(adapter: string, warn: Warn): AddressWatch {
  let first: string | undefined
  let calls = 0
  let looked = 0
  let trusted = false
  let forwarded = false

  function watchTrust(seen: Seen): void {
    if (trusted) return
    trusted = true
    if (seen.trust?.() !== 'all') return
    warn(
      'trusts all',
      `${adapter}: every proxy is trusted, so a client chooses its own address by sending X-Forwarded-For, and meets no limit and no list. ` +
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
      `${adapter}: a request has ${name}, and no proxy is trusted, so its address is that of whoever connected. ` +
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

  function listed(seen: Seen): void {
    watchTrust(seen)
    watchForwarded(seen)
  }

  return {
    listed,
    counted(seen, address) {
      listed(seen)
      if (address !== undefined) return watchSame(address)
      warn(
        'no address',
        `${adapter}: a request has no address that it could be counted by, so it is not answered with a count of strangers. ` +
          `Say by partition who calls.${seeGuide('no-address')}`,
      )
    },
    given(seen, partition) {
      if (looked >= CALLS) return
      looked += 1
      const address = clientAddress(seen.from)
      if (address === undefined || !names(partition, address)) return
      listed(seen)
      watchSame(address)
    },
  }
}

/** Whether a function by which a framework asks whom to believe believes any address, at any distance. */
export function trustsAnybody(trusts: unknown): boolean {
  try {
    return typeof trusts === 'function' && ANYBODY.every((address) => trusts(address, MOST_PROXIES) === true)
  } catch {
    // It is the user's, and need not take what no proxy has sent.
    return false
  }
}

/** Whether an address is part of what a user's `partition` says, whatever that is. */
function names(partition: unknown, address: string): boolean {
  if (typeof partition === 'string') return partition.includes(address)
  if (typeof partition !== 'object' || partition === null) return false
  return Object.values(partition).some((value) => typeof value === 'string' && value.includes(address))
}
