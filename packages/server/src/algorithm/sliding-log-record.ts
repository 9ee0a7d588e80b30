import { listOf } from '../list.js'
import { inUseAfter } from './debt.js'
import { type Meter, type Reading, unitsAwaited, View } from './meter.js'
import type { SlidingWindowLogPolicy } from './sliding-window-log.js'

/** Calls in the order in which they came. Memory's own form; Redis keeps a list of the same. */
export interface Log {
  readonly calls: Call[]
  /** Calls before this one have left the window and may be forgotten. */
  first: number
  /** Units of all calls from `first` on. */
  used: number
}

/** A class, since there is one for each call, as of what is counted: see `listOf`. */
class Call {
  readonly atUs: number
  cost: number

  constructor(atUs: number, cost: number) {
    this.atUs = atUs
    this.cost = cost
  }
}

class Counted {
  readonly first: number
  readonly used: number

  constructor(first: number, used: number) {
    this.first = first
    this.used = used
  }
}

const COMPACT_FROM = 64

/** Calls from the future (the clock was set back) count as one made now. */
export function settleLog(log: Log, nowUs: number): void {
  let from = log.calls.length
  let cost = 0
  for (let call = log.calls[from - 1]; call !== undefined && call.atUs > nowUs && from > log.first; ) {
    cost += call.cost
    from -= 1
    call = log.calls[from - 1]
  }
  if (from === log.calls.length) return
  log.calls.length = from
  log.calls.push(new Call(nowUs, cost))
}

/** The calls that still count: the place of the first of them, and their units. */
function counted(log: Log, nowUs: number, windowUs: number): Counted {
  let { first, used } = log
  for (
    let call = log.calls[first];
    call !== undefined && call.atUs + windowUs <= nowUs;
    call = log.calls[first]
  ) {
    used -= call.cost
    first += 1
  }
  return new Counted(first, used)
}

/** Forgets the calls whose window has passed, and adds one. */
export function addToLog(log: Log, cost: number, nowUs: number, windowUs: number): void {
  const { first, used } = counted(log, nowUs, windowUs)
  log.first = first
  log.used = used
  if (log.first >= COMPACT_FROM && log.first * 2 >= log.calls.length) {
    log.calls.splice(0, log.first)
    log.first = 0
  }
  log.calls.push(new Call(nowUs, cost))
  log.used += cost
}

/** The instant at which `units` will have come back of the calls from `first` on. */
function backAt(log: Log, first: number, units: number, windowUs: number): number {
  let left = units
  let atUs = 0
  for (let i = first; i < log.calls.length && left > 0; i += 1) {
    const call = log.calls[i]
    if (call === undefined) break
    left -= call.cost
    atUs = call.atUs + windowUs
  }
  return atUs
}

export function readLog(log: Log, cost: number, nowUs: number, policy: SlidingWindowLogPolicy): Reading {
  const { quota, windowUs } = policy
  const { first, used } = counted(log, nowUs, windowUs)
  const asked = unitsAwaited(cost, used + cost <= quota)
  if (used === 0) return listOf(0, 0, nowUs, cost + asked > quota ? nowUs + windowUs : nowUs)
  const fits = used + asked <= quota ? nowUs : backAt(log, first, used + asked - quota, windowUs)
  const over = used + cost + asked - quota
  // With the cost taken the same calls come back first, and the taken units last.
  const again = over <= 0 ? nowUs : over <= used ? backAt(log, first, over, windowUs) : nowUs + windowUs
  // Not when the oldest call does: it may have been given back.
  return listOf(used, backAt(log, first, 1, windowUs), fits, again)
}

/** A charge is looked for among so many calls that came after it; beyond that it stays. */
const FARTHEST = 1000

/** Changes the calls made at an instant, as many as it takes. @returns whether anything was changed */
export function adjustLog(
  log: Log,
  units: number,
  mark: number,
  most: number,
  nowUs: number,
  windowUs: number,
): boolean {
  if (mark + windowUs <= nowUs) return false
  const index = log.calls.findIndex(({ atUs }) => atUs >= mark)
  if (index < 0 || log.calls.length - index > FARTHEST) return false
  const { used } = counted(log, nowUs, windowUs)
  let left = units > 0 ? inUseAfter(used, units, most) - used : units
  let changed = 0
  for (let i = Math.max(index, log.first); i < log.calls.length; i += 1) {
    const call = log.calls[i]
    if (call === undefined || call.atUs !== mark || left === 0) continue
    const by = Math.max(left, -call.cost)
    call.cost += by
    left -= by
    changed += by
  }
  log.used += changed
  // What has been given back whole and stands at the end is let go of, so that giving back leaves nothing behind.
  while (log.calls.at(-1)?.cost === 0) log.calls.pop()
  log.first = Math.min(log.first, log.calls.length)
  return changed !== 0
}

/** Each call's units come back when its own window has passed. */
export const slidingLogMeter: Meter<SlidingWindowLogPolicy> = {
  fits: ([used = 0], cost, { quota }) => used + cost <= quota,

  view([used = 0, firstUs = 0, fitsUs = 0, againUs = 0], cost, taken, nowUs, { quota, windowUs }) {
    const after = taken ? used + cost : used
    const available = Math.max(0, quota - after)
    const freedUs = firstUs > 0 ? firstUs - nowUs : after > 0 ? windowUs : 0
    const waitUs = Math.max(0, (taken ? againUs : fitsUs) - nowUs)
    return new View(available, waitUs, Math.max(freedUs, (available / quota) * windowUs))
  },
}
