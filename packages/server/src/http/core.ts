import { systemClock } from '@ratepact/contract'
import type { Decision } from '../decision.js'
import { createLimiter, type Limiter } from '../limiter.js'
import { formFor } from './accept.js'
import type { Addressed } from './address.js'
import type { Trust } from './address-watch.js'
import { createAsk, type Note } from './ask.js'
import { createAttempt } from './attempt.js'
import { Charged, giveBackEarlier, noteCharged } from './charged.js'
import { type Denial, type Denied, denialOf } from './denial.js'
import { bodyOf } from './denial-body.js'
import { textOf } from './error.js'
import { seeGuide } from './guide.js'
import { exposeFields, type Head, statesLimits } from './head.js'
import { createHolder, type Holder, type Stay } from './hold.js'
import { isMadeAnew, noteAsked } from './made-late.js'
import { type AnyHttpOptions, expectHttpOptions, type HeaderOptions, OF_LIMITER } from './options.js'
import { createOutcome } from './outcome.js'
import { createPartitionKeys, withKeys } from './partition-keys.js'
import { createStatements, type Statements } from './statement.js'
import { createTwiceWatch } from './twice.js'
import { createWarn, type Warn } from './warn.js'

/** What an adapter finds out about a request, each only if it is asked. */
export interface Seen {
  /** What its address is read from. */
  readonly from: Addressed
  /** Whom the framework believes about addresses; not there where it has no say. */
  readonly trust?: () => Trust
  readonly method: string | undefined
  /** Method and route pattern. */
  readonly scope: () => string
  /** A field of the request, by its name in lower case. */
  readonly header: (name: string) => string | string[] | null | undefined
  /** What all limiters of this request are handed alike: its answer, or the request itself. */
  readonly shared: object
  /** Whether several calls may be handed that at once. */
  readonly several?: boolean
}

/** What every adapter does, whatever its framework: a request becomes a decision, a decision becomes an answer. */
export interface Gate<Args extends readonly unknown[]> {
  /**
   * Asks the limiter about a request. An admitted one is held where a policy asks for it, and its places are kept until
   * its stay ends; of a call whose end is not told, for as long as they last by themselves.
   * @returns undefined for a request that is not to be counted; `gone` when its client has gone while it was held
   * @throws whatever the user's functions throw, and what the limiter says of their results
   */
  decide(
    args: Args,
    seen: Seen,
    stayOf?: StayOf,
  ): Decision | undefined | Promise<Decision | undefined | 'gone'>
  /**
   * Has a decision take effect on what limiters before this one have charged: it is given back where the request does not
   * go on. To be called once, with whatever `decide` has decided; of a denial, when nobody can overrule it any more.
   */
  enter(decision: Decision | 'gone', seen: Seen): void
  /** What a decision has to say in the head of the answer; undefined when that is nothing. */
  statement(decision: Decision, seen: Seen): Statement | undefined
  /** The answer to what may not pass, in the form that the request asks for. */
  denial(decision: Denied, seen: Seen): Denial
  /** Tells of a mistake of its user's. */
  readonly warn: Warn
}

/** For how long a request stays, by what its limiters are handed alike. */
type StayOf = (shared: object, countsBytes: boolean) => Stay

const NONE: readonly never[] = []

/** Writes into the head of an answer, once its status is known. */
export type Statement = (status: number, head: Head) => void

/**
 * Makes the gate from an adapter's options, the limiter too where policies are given.
 * @throws TypeError or RangeError naming the option, the value and the rule
 */
export function createGate<Args extends readonly unknown[]>(adapter: string, given: unknown): Gate<Args> {
  expectHttpOptions(adapter, given)
  const options: AnyHttpOptions = given
  const limiter = limiterOf(options)
  const { headers = {} } = options
  const warn = createWarn(options.onWarning)
  const hints = headers !== false && headers.hints !== false
  const statementsOf = createStatementsByPlan(limiter, headers)
  const exposedBy = (statements: Statements | undefined) => [
    ...(statements?.names ?? []),
    'Retry-After',
    ...(hints ? ['retry-after-ms'] : []),
  ]
  const secret = headers === false ? undefined : headers.partitionKey
  const noted = headers !== false && (headers.legacy || secret !== undefined)
  const notes = noted ? new WeakMap<Decision, Note>() : undefined
  const keysOf = secret === undefined ? undefined : createPartitionKeys(secret)
  const ask = createAsk<Args>({ adapter, options, limiter, warn, notes, keysOf })
  const watchTwice = createTwiceWatch(adapter, limiter, warn)
  if (isMadeAnew(options.clock ?? systemClock))
    warn(
      'made late',
      `${adapter} was called while a request is handled, again and again. What is made for each request counts that alone: make it once, before ` +
        `the server listens.${seeGuide('made-inside-a-handler')}`,
    )
  const attempt = createAttempt(adapter, limiter, warn)
  const outcome = createOutcome(adapter, options, limiter, attempt, warn)
  const holder = createHolder({ limiter, attempt, outcome, clock: options.clock ?? systemClock })

  async function hold(
    holder: Holder,
    asking: ReturnType<typeof ask>,
    args: Args,
    seen: Seen,
    stayOf: StayOf | undefined,
  ): Promise<Decision | undefined | 'gone'> {
    const asked = await asking
    if (asked?.outcome !== 'admitted') return asked
    const stayFor = stayOf && (() => stayOf(seen.shared, outcome?.countsBytes === true))
    const decision = await holder.hold(asked, stayFor, args)
    if (decision === undefined) return 'gone'
    // A call that would be held for too long is refused by a decision of its own.
    const note = decision === asked ? undefined : notes?.get(asked)
    if (note !== undefined) notes?.set(decision, note)
    return decision
  }

  return {
    warn,
    decide(args, seen, stayOf) {
      noteAsked()
      const asked = ask(args, seen)
      return holder === undefined ? asked : hold(holder, asked, args, seen, stayOf)
    },
    enter(decision, seen) {
      // What does not run is charged nowhere.
      if (decision === 'gone' || !decision.allowed)
        giveBackEarlier(seen.shared, seen.several ? attempt : undefined)
      else if (decision.outcome === 'admitted') {
        noteCharged(seen.shared, new Charged(limiter, decision, attempt), watchTwice)
      }
    },
    statement(decision, seen) {
      const note = notes?.get(decision)
      const atMs = note?.atMs ?? (notes === undefined ? 0 : Date.now())
      const limits = 'limits' in decision ? withKeys(decision.limits, note?.keys) : NONE
      const stating = limits.length > 0 ? statementsOf(decision.plan) : undefined
      if (stating === undefined && decision.allowed) return undefined
      const crossOrigin = isPresent(seen.header('origin'))
      return (status, head) => {
        if (!statesLimits(status)) return
        try {
          const stated = stating?.write(head, limits, atMs) ?? false
          if (crossOrigin && (stated || !decision.allowed))
            exposeFields(head, exposedBy(stating ?? statementsOf(decision.plan)))
        } catch (error) {
          // Some wrapped method of the response. Whoever answers must not fail for what we have to say.
          warn('statement', `${adapter} could not state the limits on an answer: ${textOf(error)}`)
        }
      }
    },
    denial(decision, seen) {
      const head = denialOf(decision, hints)
      return { ...head, ...bodyOf(head.details, formFor(seen.header('accept'))) }
    },
  }
}

function isPresent(field: ReturnType<Seen['header']>): boolean {
  return field !== undefined && field !== null
}

/** What states the limits of a plan; each is made when it is first needed. */
function createStatementsByPlan(
  limiter: Limiter,
  headers: false | HeaderOptions,
): (plan: string | undefined) => Statements | undefined {
  if (headers === false) return () => undefined
  const made = new Map<string | undefined, Statements>()
  return (plan) => {
    let statements = made.get(plan)
    if (statements === undefined) {
      statements = createStatements(plan === undefined ? limiter.policies : limiter.policiesOf(plan), headers)
      made.set(plan, statements)
    }
    return statements
  }
}

function limiterOf(options: AnyHttpOptions): Limiter {
  if (options.limiter !== undefined) return options.limiter
  const given = Object.entries(options).filter(
    ([name, value]) => OF_LIMITER.includes(name) && value !== undefined,
  )
  return createLimiter(Object.fromEntries(given) as never) as Limiter
}
