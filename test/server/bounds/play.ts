import { createLimiter, type Decision, type Limiter, type Store } from '@ratepact/server'
import { expect } from 'vitest'
import { backlog, type Call, fits, inUse } from './definitions.js'
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
  /** Of each rule, the calls that were admitted, by whose they are. */
  readonly histories: readonly Map<string, Call[]>[]
  readonly made: Made[]
  /** What was refused just now, with nothing asked since. */
  refused?: { readonly who: Owner; readonly cost: number; readonly waitUs: number }
}

/** Plays a schedule. @throws an assertion where the limiter says anything but what the definitions say */
export async function play(
  store: Store,
  clock: HandClock,
  counted: readonly Counted[],
  steps: readonly Step[],
): Promise<void> {
  const policies = counted.map((one, i) => policyOf(one, `p${i}`))
  const limiter = createLimiter({ policies, store, onStoreFailure: 'closed', denyCache: false }) as Limiter
  const game: Game = { counted, limiter, clock, histories: counted.map(() => new Map()), made: [] }
  try {
    for (const step of steps) await take(game, step)
    for (const [i, { rule }] of counted.entries())
      for (const calls of game.histories[i]?.values() ?? [])
        expect(brokenBound(rule, calls), JSON.stringify(rule)).toBeUndefined()
  } finally {
    await limiter.close()
  }
}

async function take(game: Game, { move, verb, who, cost, back }: Step): Promise<void> {
  const { refused, clock, counted } = game
  delete game.refused
  if (move.kind === 'obey') {
    if (refused === undefined) return
    clock.nowUs += refused.waitUs + move.off
    const decision = await ask(game, 'consume', refused.who, refused.cost)
    expect(decision.outcome).toBe(move.off === 0 ? 'admitted' : 'refused')
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
  expect((await ask(game, 'consume', who, 1)).outcome).toBe('refused')
}

async function ask(game: Game, verb: 'consume' | 'peek', who: Owner, cost: number): Promise<Decision> {
  const { counted, limiter, clock } = game
  const now = clock.nowUs
  const histories = game.histories.map((history, i) => historyOf(history, ownerOf(at(counted, i), who)))
  const possible = counted.every(({ rule }) => cost <= rule.quota)
  const fit = counted.map(({ rule }, i) => fits(rule, at(histories, i), now, cost))
  const delayUs = Math.max(0, ...counted.map(({ rule }, i) => delayOf(rule, at(histories, i), now, cost)))
  const charged = possible && verb === 'consume' && fit.every(Boolean)
  const calls = charged ? counted.map(({ rule }) => callAt(rule, now, cost)) : []
  const decision = await limiter[verb](partitionOf(counted, who), { cost: costsOf(counted, cost) })
  for (const [i, call] of calls.entries()) at(histories, i).push(call)
  if (charged) game.made.unshift({ decision, calls })
  expect(said(decision, verb)).toEqual(
    !possible
      ? { outcome: 'impossible', violated: namesWhere(counted, ({ rule }) => cost > rule.quota) }
      : {
          outcome: fit.every(Boolean) ? 'admitted' : 'refused',
          ...(fit.every(Boolean) ? {} : { violated: namesWhere(counted, (_, i) => fit[i] === false) }),
          available: counted.map(({ rule }, i) =>
            Math.max(0, rule.quota - inUse(rule, at(histories, i), now)),
          ),
          ...(charged && { delayUs }),
        },
  )
  if (decision.outcome === 'refused') {
    const timely = counted.every(({ rule }, i) => fit[i] || rule.kind !== 'places')
    if (timely)
      game.refused = { who, cost, waitUs: waitOf(game, histories, cost, decision.retryAfterSeconds) }
  }
  return decision
}

/** The wait of a refusal, if with no other traffic the call fits after it and a µs earlier does not. */
function waitOf(
  { counted, clock }: Game,
  histories: readonly Call[][],
  cost: number,
  seconds: number,
): number {
  const waitUs = Math.round(seconds * 1e6)
  const fitsAfter = (us: number) =>
    counted.every(({ rule }, i) => fits(rule, at(histories, i), clock.nowUs + us, cost))
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

/** How long a queue holds a call: until all before it have left, at the rate. */
function delayOf(rule: Counted['rule'], calls: readonly Call[], nowUs: number, cost: number): number {
  return rule.kind === 'queue' && cost > 0 ? Math.ceil(backlog(rule, calls, nowUs) / rule.units) : 0
}

function callAt(rule: Counted['rule'], atUs: number, cost: number): Call {
  return { atUs, cost, endUs: rule.kind === 'places' ? atUs + rule.leaseUs : atUs }
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
