import { SLOTS } from './slot.js'

/** Where a node is to be found. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** Slots that lie one after another and have one master. */
export interface SlotRange {
  readonly from: number
  readonly to: number
  readonly master: Address
}

export function nameOf({ host, port }: Address): string {
  return `${host}:${port}`
}

/** `host:port`; a host that is left out is the one that was asked. IPv6 comes without brackets. */
export function addressIn(text: string, asked: string): Address | undefined {
  const colon = text.lastIndexOf(':')
  return addressFrom(text.slice(0, colon), Number(text.slice(colon + 1)), asked)
}

/**
 * What CLUSTER SLOTS answers; ranges that make no sense are passed over. It is older than CLUSTER SHARDS, and there
 * from Redis 6.2 to the newest.
 */
export function slotRangesIn(reply: unknown, asked: string): readonly SlotRange[] {
  const ranges: SlotRange[] = []
  for (const item of listOf(reply)) {
    const [from, to, node] = listOf(item)
    const [host, port] = listOf(node)
    const master = addressFrom(host, port, asked)
    if (master !== undefined && isSlot(from) && isSlot(to)) ranges.push({ from, to, master })
  }
  return ranges
}

function addressFrom(host: unknown, port: unknown, asked: string): Address | undefined {
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined
  // A node that does not know its own name, or is told to keep it to itself, is where it was asked.
  const unknown = host === null || host === '' || host === '?'
  if (!unknown && typeof host !== 'string') return undefined
  return { host: unknown ? asked : host, port }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isSlot(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < SLOTS
}
