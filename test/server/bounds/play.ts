import { createLimiter, type Decision, type Limiter, type Store } from '@ratepact/server'
import { expect } from 'vitest'
import { backlog, type Call, fits, heldFor, inUse, passes } from './definitions.js'
import type { HandClock } from './hand-clock.js'
import { brokenBound } from './promises.js'
import { type Counted, policyOf, spanOf } from './rules.js'
import type { Step } from './schedule.js'

type Owner = Step['who']

interface Made {
  readonly decision: Decision
  readonly calls: readonly Call[]
}

/** A limiter beside the definitions of its rules: whatever is asked of it, they are asked too. */
interface Game {
  readonly counted: readonly Counted[]
  readonly limiter: Limiter
  readonly clock: HandClock
  readonly holds: boolean
  /** Of each rule, the calls that were admitted, by whose they are. */
  readonly histories: readonly Map<string, Call[]>[]
  readonly made: Made[]
  /** What was refused just now, with nothing asked since. */
  refused?: { readonly who: Owner; readonly cost: number; readonly waitUs: number }
}

/**
 * Plays a schedule.
 * @param holdUs for how long the limiter may hold calls
 * @throws an assertion where the limiter says anything but what the definitions say
 */
export async function play(
  store: Store,
  clock: HandClock,
  given: readonly Counted[],
  steps: readonly Step[],
  holdUs = 0,
): Promise<void> {
  const counted = given.map((one) => ({ ...one, rule: { ...one.rule, holdUs } }))
  const policies = counted.map((one, i) => policyOf(one, `p${i}`))
  const limiter = createLimiter({
    policies,
    store,
    onStoreFailure: 'closed',
    denyCache: false,
    ...(canHold(counted) && { hold: holdUs / 1e6 }),
  }) as Limiter
  const game: Game = {
    counted,
    limiter,
    clock,
    holds: holdUs > 0,
    histories: counted.map(() => new Map()),
    made: [],
  }
  try {
    for (const step of steps) await take(game, step)
    for (const [i, { rule }] of counted.entries())
      for (const calls of game.histories[i]?.values() ?? [])
        expect(brokenBound(rule, calls), JSON.stringify(rule)).toBeUndefined()
  } finally {
    await limiter.close()
  }
}

/** Whether any rule may hold calls; a limiter that is told to, and can not, says so. */
function canHold(counted: readonly Counted[]): boolean {
  return counted.some(({ rule }) => {
    if (!('holdUs' in rule) || !rule.holdUs) return false
    if (rule.kind === 'bucket') return true
    return (
      (rule.kind === 'calendar' || rule.kind === 'from-first') && rule.quota * rule.holdUs >= rule.windowUs
    )
  })
}

async function take(game: Game, { move, verb, who, cost, back }: Step): Promise<void> {
  const { refused, clock, counted } = game
  delete game.refused
  if (move.kind === 'obey') {
    if (refused === undefined) return
    clock.nowUs += refused.waitUs + move.off
    const decision = await ask(game, 'consume', refused.who, refused.cost)
    if (move.off === 0) expect(decision.outcome).toBe('admitted')
    // Who comes too early may be held.
    else expect(decision.outcome === 'refused' || (game.holds && isHeld(decision))).toBe(true)
    return
  }
  const spanUs = 'rule' in move ? Math.ceil(spanOf(at(counted, move.rule % counted.length).rule)) : 0
  if (move.kind === 'us') clock.nowUs += move.us
  else if (move.kind === 'by') clock.nowUs += Math.round((spanUs * move.share) / 1000)
  else if (move.kind === 'span') clock.nowUs += spanUs + move.off
  else clock.nowUs = Math.max(clock.nowUs, clock.nowUs - (clock.nowUs % spanUs) + spanUs + move.off)
  if (verb === 'drain') await drain(game, who)
  else if (verb === 'release' || verb === 'renew') await endOrRenew(game, verb, back)
  else await ask(game, verb, who, cost)
}

/** As many calls of one unit pass as the least of the policies says are left, and not one more. */
async function drain(game: Game, who: Owner): Promise<void> {
  // Places of a queue that would be held for too long are free, and are not given out.
  if (game.counted.some(({ rule }) => rule.kind === 'queue' && rule.longestUs < Number.POSITIVE_INFINITY))
    return
  const peek = await ask(game, 'peek', who, 1)
  if (!('limits' in peek)) throw new Error(`a look came to ${peek.outcome}`)
  const left = Math.min(...peek.limits.map(({ available }) => available))
  for (let n = 0; n < left; n += 1) expect((await ask(game, 'consume', who, 1)).outcome).toBe('admitted')
  const last = await ask(game, 'consume', who, 1)
  expect(last.outcome === 'refused' || (game.holds && isHeld(last))).toBe(true)
}

function isHeld(decision: Decision): boolean {
  return decision.outcome === 'admitted' && decision.delaySeconds > 0
}

async function ask(game: Game, verb: 'consume' | 'peek', who: Owner, cost: number): Promise<Decision> {
  const { counted, limiter, clock } = game
  const now = clock.nowUs
  const histories = game.histories.map((history, i) => historyOf(history, ownerOf(at(counted, i), who)))
  const possible = counted.every(({ rule }) => cost <= rule.quota)
  const fit = counted.map(({ rule }, i) => passes(rule, at(histories, i), now, cost))
  const delays = counted.map(({ rule }, i) => delayOf(rule, at(histories, i), now, cost))
  const delayUs = Math.max(0, ...delays)
  const charged = possible && verb === 'consume' && fit.every(Boolean)
  const calls = charged ? counted.map(({ rule }, i) => callAt(rule, now, cost, at(delays, i))) : []
  const decision = await limiter[verb](partitionOf(counted, who), { cost: costsOf(counted, cost) })
  for (const [i, call] of calls.entries()) at(histories, i).push(call)
  if (charged) game.made.unshift({ decision, calls })
  expect(said(decision, verb)).toEqual(
    !possible
      ? { outcome: 'impossible', violated: namesWhere(counted, ({ rule }) => cost > rule.quota) }
      : {
          outcome: fit.every(Boolean) ? 'admitted' : 'refused',
          ...(fit.every(Boolean) ? {} : { violated: namesWhere(counted, (_, i) => fit[i] === false) }),
          available: counted.map(({ rule }, i) => {
            // A call that a window holds is told of the window in which it is let go.
            const held = charged && 'windowUs' in rule ? at(delays, i) : 0
            return Math.max(0, rule.quota - inUse(rule, at(histories, i), now + held))
          }),
          ...(charged && { delayUs }),
        },
  )
  if (decision.outcome === 'refused') {
    const timely = counted.every(({ rule }, i) => fit[i] || rule.kind !== 'places')
    if (timely)
      game.refused = { who, cost, waitUs: waitOf(game, histories, fit, cost, decision.retryAfterSeconds) }
  }
  return decision
}

/**
 * The wait of a refusal, if with no other traffic the call fits after it those that refused it, and a µs earlier does
 * not. Those that did not may have it held.
 */
function waitOf(
  { counted, clock }: Game,
  histories: readonly Call[][],
  fit: readonly boolean[],
  cost: number,
  seconds: number,
): number {
  const waitUs = Math.round(seconds * 1e6)
  const fitsAfter = (us: number) =>
    counted.every(({ rule }, i) => (fit[i] ? passes : fits)(rule, at(histories, i), clock.nowUs + us, cost))
  expect([fitsAfter(waitUs), fitsAfter(waitUs - 1)], `a wait of ${waitUs} µs`).toEqual([true, false])
  return waitUs
}

async function endOrRenew({ made, limiter, clock, counted }: Game, verb: 'release' | 'renew', back: number) {
  const about = made[back]
  if (about === undefined) return
  const held = about.calls.filter((call, i) => at(counted, i).rule.kind === 'places' && call.cost > 0)
  const alive = held.filter(({ endUs }) => endUs > clock.nowUs)
  if (verb === 'release') made.splice(back, 1)
  expect(await limiter[verb](about.decision)).toBe(alive.length > 0)
  for (const [i, { rule }] of counted.entries())
    if (rule.kind === 'places' && alive.includes(at(about.calls, i)))
      at(about.calls, i).endUs = clock.nowUs + (verb === 'release' ? 0 : rule.leaseUs)
}

function said(decision: Decision, verb: string): object {
  return {
    outcome: decision.outcome,
    ...('violated' in decision && { violated: decision.violated }),
    ...('limits' in decision && { available: decision.limits.map(({ available }) => available) }),
    ...(decision.outcome === 'admitted' &&
      verb === 'consume' && { delayUs: Math.round(decision.delaySeconds * 1e6) }),
  }
}

/**
 * How long a queue holds a call: until all before it have left, at the rate; and others, where they may, one that does
 * not fit: until it does.
 */
function delayOf(rule: Counted['rule'], calls: readonly Call[], nowUs: number, cost: number): number {
  if (rule.kind === 'queue') return cost > 0 ? Math.ceil(backlog(rule, calls, nowUs) / rule.units) : 0
  return fits(rule, calls, nowUs, cost) ? 0 : (heldFor(rule, calls, nowUs, cost) ?? 0)
}

/** Windows count a call when it is let go; a bucket counts at once what is on its way to it. */
function callAt(rule: Counted['rule'], nowUs: number, cost: number, delayUs: number): Call {
  const atUs = 'windowUs' in rule ? nowUs + delayUs : nowUs
  return { atUs, cost, endUs: rule.kind === 'places' ? nowUs + rule.leaseUs : atUs }
}

const ownerOf = ({ by }: Counted, who: Owner) => (by === 'client' ? who : 'shared')

function partitionOf(counted: readonly Counted[], who: Owner): Record<string, string> {
  return Object.fromEntries(counted.map((one) => [one.by, ownerOf(one, who)]))
}

/** Every policy is charged by name, places too, which a plain number does not mean. */
function costsOf(counted: readonly Counted[], cost: number): Record<string, number> {
  return Object.fromEntries(counted.map((_, i) => [`p${i}`, cost]))
}

function namesWhere(
  counted: readonly Counted[],
  is: (one: Counted, i: number) => boolean,
): readonly string[] {
  return counted.flatMap((one, i) => (is(one, i) ? [`p${i}`] : []))
}

function historyOf(histories: Map<string, Call[]>, owner: string): Call[] {
  const history = histories.get(owner) ?? []
  histories.set(owner, history)
  return history
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new RangeError(`There is nothing at ${index}`)
  return item
}
