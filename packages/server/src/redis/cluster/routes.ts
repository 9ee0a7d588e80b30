import type { Op } from '../../store.js'
import type { Connection } from '../connection.js'
import { detourOf } from '../detour.js'
import type { RoutesEvents } from '../open.js'
import { OF_NO_USE, type Routes } from '../routes.js'
import { type Address, addressIn, nameOf, type SlotRange, slotRangesIn } from './address.js'
import { createNodes, type Nodes } from './nodes.js'
import type { FindSeeds, Translate } from './seeds.js'
import { SLOTS } from './slot.js'

export interface ClusterOptions {
  readonly find: FindSeeds
  readonly translate: Translate
  readonly slotOf: (op: Op) => number
  /** How long a call may take. */
  readonly timeoutMs: number
}

/** How long a node may take to say who has which slots. */
const ASK_MS = 1000
/** The table of slots is read again no sooner than after this, and no later while some of it is of no use. */
const SOON_MS = 100
const LATEST_MS = 250

/**
 * The routes to the nodes of a cluster, over connections of our own. The table of slots is read when it begins, when
 * a node is lost and when an answer shows that it is old, so nothing runs while nothing changes.
 */
export function clusterRoutes(
  { find, translate, slotOf, timeoutMs }: ClusterOptions,
  events: RoutesEvents,
): Routes {
  // Filled, because `every` passes over what has never been set.
  const masters = new Array<Address | undefined>(SLOTS).fill(undefined)
  /** The parts by slot. One is called by its first slot, which stays when another node becomes its master. */
  const partsBySlot = new Array<string | undefined>(SLOTS)
  let nodes: Nodes | undefined
  let known = false
  let closed = false
  let reading = false
  let timer: NodeJS.Timeout | undefined

  const nodeEvents = {
    ready() {
      events.report({ type: 'connected' })
      if (!known) void read()
      events.ready()
    },
    lost(error: Error | undefined) {
      events.report({ type: 'disconnected', ...(error && { error }) })
      readSoon()
    },
    failed: readSoon,
  }

  function readSoon(ms: number = SOON_MS): void {
    if (closed || reading || timer !== undefined) return
    timer = setTimeout(read, ms / 2 + (Math.random() * ms) / 2)
    timer.unref()
  }

  /** Reads the table of slots from any node that has it, or else looks for nodes. Never rejects. */
  async function read(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (closed || reading) return
    reading = true
    const ranges = await askAny(nodes)
    if (ranges === undefined) await findNodes()
    else if (!closed) take(ranges)
    reading = false
    if (!closed && !isWhole()) readSoon(LATEST_MS)
  }

  async function findNodes(): Promise<void> {
    const seeds = await find()
    if (closed || seeds === undefined) return
    nodes ??= createNodes(seeds.openLink, timeoutMs, nodeEvents)
    for (const address of seeds.addresses) nodes.to(translate(address))
  }

  function take(ranges: readonly SlotRange[]): void {
    const names = new Set<string>()
    const before = masters.map((address) => address && nameOf(address))
    masters.fill(undefined)
    const parts = new Map<string, string>()
    for (const { from, to, master } of [...ranges].sort((one, other) => one.from - other.from)) {
      const address = translate(master)
      const part = parts.get(nameOf(address)) ?? `part from slot ${from}`
      parts.set(nameOf(address), part)
      partsBySlot.fill(part, from, to + 1)
      masters.fill(address, from, to + 1)
      names.add(nameOf(address))
      nodes?.to(address)
    }
    known = true
    nodes?.keep(names)
    // Who could not be asked before may have a master now whose connection is there already.
    if (masters.some((address, slot) => address !== undefined && nameOf(address) !== before[slot]))
      events.report({ type: 'connected' })
    events.ready()
  }

  /** Whether each slot has a master that can be written to. */
  function isWhole(): boolean {
    const ready = new Set(nodes?.ready().map(({ address }) => nameOf(address)))
    return masters.every((address) => address !== undefined && ready.has(nameOf(address)))
  }

  function readyAt(address: Address | undefined): Connection | undefined {
    const connection = address && nodes?.to(address)
    if (connection?.ready()) return connection
    readSoon()
    return undefined
  }

  function elsewhere(text: string, slot: number): Address | undefined {
    const address = addressIn(text, masters[slot]?.host ?? '')
    return address && translate(address)
  }

  void read()
  return {
    most: Number.POSITIVE_INFINITY,
    placeOf: slotOf,
    at: (slot, via) => readyAt(via === undefined ? masters[slot] : elsewhere(via, slot)),
    detour(error) {
      const detour = detourOf(error)
      if (detour?.to !== 'owner') return detour
      masters[detour.slot] = elsewhere(detour.address, detour.slot)
      readSoon()
      return detour
    },
    nodes: () => [...new Set(masters.flatMap((address) => (address === undefined ? [] : [nameOf(address)])))],
    nodeOf(slot) {
      const address = masters[slot]
      return address && nameOf(address)
    },
    partOf: (slot) => partsBySlot[slot],
    trouble(slot) {
      const address = masters[slot]
      return address && nodes?.to(address).trouble()
    },
    troubled(slot, { code }) {
      const address = masters[slot]
      if (OF_NO_USE.includes(code) && address !== undefined) nodes?.to(address).replace()
      if (code === 'CLUSTERDOWN') readSoon()
    },
    close() {
      closed = true
      clearTimeout(timer)
      nodes?.close()
    },
  }
}

/** The table of slots of the first node that answers with one; at most three are asked. */
async function askAny(nodes: Nodes | undefined): Promise<readonly SlotRange[] | undefined> {
  const ready = [...(nodes?.ready() ?? [])].sort(() => Math.random() - 0.5)
  for (const { address, connection } of ready.slice(0, 3)) {
    const ranges = await ask(connection, address)
    if (ranges.length > 0) return ranges
  }
  return undefined
}

async function ask({ link, sent }: Connection, { host }: Address): Promise<readonly SlotRange[]> {
  const answered = sent()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ASK_MS)
    timer.unref()
  })
  const table = link.command('CLUSTER', 'SLOTS').finally(answered)
  try {
    return slotRangesIn(await Promise.race([table, late]), host)
  } catch {
    return []
  } finally {
    clearTimeout(timer)
  }
}
