import { type Clock, type QuotaPolicy, systemClock } from '@ratepact/contract'
import { type Backoff, exponentialBackoff } from './backoff.js'
import { type CallSettings, mostUnits, waitSeconds } from './call-options.js'
import {
  aBoolean,
  aFunction,
  aNumber,
  aString,
  aWhole,
  type Check,
  checkMembers,
  listOf,
  oneOf,
  optional,
  refills,
  rule,
  unheard,
} from './check.js'
import { type DialectOptions, readDialect } from './dialect.js'
import { type ClientEvent, Events } from './events.js'
import { never } from './pace/quota.js'
import { defaultPartition } from './partition.js'
import { type RetryOptions, type RetrySettings, readRetry } from './retry-options.js'
import { defaultRoute } from './route.js'
import type { OutgoingRequest, Target } from './target.js'

/**
 * The answer of any implementation of fetch. Their types of `Response` do not fit each other (a body is a
 * stream of their own), so the whole of one is not asked for here; it is a Response all the same.
 */
export interface ResponseLike {
  readonly status: number
  readonly url: string
  readonly redirected: boolean
  readonly headers: { get(name: string): string | null }
  clone(): unknown
  text(): Promise<string>
}

/** How a client behaves. Everything has a default. */
export interface ClientOptions {
  /**
   * What sends a request.
   * @default globalThis.fetch, looked up at each call; where that is the client itself, the one before it
   */
  // biome-ignore lint/suspicious/noExplicitAny: every implementation of fetch has its own types for these
  readonly fetch?: ((input: any, init?: any) => Promise<ResponseLike>) | undefined
  /** Who shares a quota: calls with equal strings are paced together. @default origin and credential */
  readonly partition?: ((request: OutgoingRequest) => string) | undefined
  /** What is called, where limits differ by it. @default method and path, identifiers and tokens folded */
  readonly route?: ((request: OutgoingRequest) => string) | undefined
  /**
   * Policies known beforehand, for every partition; without any the first answer is waited for. One whose `unit` is not
   * `requests` (the default) or `concurrent-requests` holds nothing back before an answer states it.
   * @default none
   */
  readonly policies?: readonly QuotaPolicy[] | undefined
  /** What the service means by fields that no standard defines. @default none of them is read */
  readonly dialect?: DialectOptions | undefined
  /** The longest that one call waits in all, for its turn and between attempts, in seconds. @default 60 */
  readonly maxWaitSeconds?: number | undefined
  /**
   * Tells servers that count them that this is one client: `Ratepact-Instance`, a random number for each client that is
   * made. Among many clients with one credential it lets each take its share at once. In a page it goes to the page's own
   * origin alone, since any other would have to allow it.
   * @default false
   */
  readonly tellInstance?: boolean | undefined
  /** How many calls may wait in one partition. @default 1000 */
  readonly maxQueue?: number | undefined
  /** How often one call is sent at most. @default 3 */
  readonly maxAttempts?: number | undefined
  /** The longest from a call to the head of its answer, in seconds. @default none */
  readonly totalTimeoutSeconds?: number | undefined
  /** The longest from one sending to the head of its answer, in seconds. @default none */
  readonly attemptTimeoutSeconds?: number | undefined
  readonly retry?: RetryOptions | undefined
  /** Waits after refusals that do not say how long. @default exponentialBackoff() */
  readonly backoff?: Backoff | undefined
  /** @default the machine's own */
  readonly clock?: Clock | undefined
  /** A number from 0 up to, not including, 1. @default Math.random */
  readonly random?: (() => number) | undefined
  /** Is told what happens inside. What it throws is ignored. */
  readonly onEvent?: ((event: ClientEvent) => unknown) | undefined
}

/** Options once checked, times in milliseconds. */
export interface Settings extends RetrySettings {
  readonly fetch: ClientOptions['fetch']
  readonly partition: (target: Target) => string
  readonly route: (target: Target) => string
  readonly policies: readonly QuotaPolicy[]
  readonly dialect: DialectOptions
  readonly perCall: CallSettings
  readonly tellInstance: boolean
  readonly maxQueue: number
  readonly maxAttempts: number
  readonly totalTimeoutMs: number
  readonly attemptTimeoutMs: number
  readonly backoff: Backoff
  readonly clock: Clock
  readonly random: () => number
  readonly events: Events
}

/** Timeouts are single timers, and no timer is longer. */
const mostTimeoutSeconds = 2_147_483

/** @throws TypeError or RangeError that names the option, the rule and what was given. */
export function readOptions(options: ClientOptions): Settings {
  const timeout = optional(aNumber(0.001, mostTimeoutSeconds, ' of seconds'), never)
  const { maxWaitSeconds, totalTimeoutSeconds, attemptTimeoutSeconds, retry, onEvent, ...as } = checkMembers(
    'options',
    options,
    {
      fetch: optional<ClientOptions['fetch']>(aFunction),
      partition: optional<Settings['partition']>(aFunction, defaultPartition),
      route: optional<Settings['route']>(aFunction, defaultRoute),
      policies: optional(listOf(checkPolicy), []),
      dialect: optional(readDialect, {}),
      maxWaitSeconds: optional(waitSeconds(), 60),
      tellInstance: optional(aBoolean, false),
      maxQueue: optional(aWhole(0, 10_000_000), 1000),
      maxAttempts: optional(aWhole(1, 1000), 3),
      totalTimeoutSeconds: timeout,
      attemptTimeoutSeconds: timeout,
      retry: readRetry,
      backoff: optional(withMethods('delaySeconds'), exponentialBackoff()),
      clock: optional(withMethods('now', 'setTimeout', 'clearTimeout'), systemClock),
      random: optional(aRandom, Math.random),
      onEvent: optional<ClientOptions['onEvent']>(aFunction),
    },
    '',
  )
  return {
    ...as,
    ...retry,
    perCall: { cost: 1, priority: 0, key: '', maxWaitMs: maxWaitSeconds * 1000 },
    totalTimeoutMs: totalTimeoutSeconds * 1000,
    attemptTimeoutMs: attemptTimeoutSeconds * 1000,
    events: new Events(onEvent),
  }
}

function checkPolicy(name: string, policy: unknown): QuotaPolicy {
  return checkMembers<QuotaPolicy>(name, policy, {
    policy: aString,
    quota: aWhole(0, mostUnits),
    unit: optional(aString, 'requests'),
    windowSeconds: optional(aWhole(1, mostUnits)),
    partitionKey: optional(rule('a Uint8Array', (value) => value instanceof Uint8Array)),
    refill: optional(oneOf(...refills)),
    ratePerSecond: optional(aNumber(1e-9, mostUnits)),
  })
}

function aRandom(name: string, value: unknown): () => number {
  const random = aFunction<() => number>(name, value)
  return () => unheard(random())
}

/** Something made elsewhere, with those methods. */
function withMethods<T>(...methods: readonly (string & keyof T)[]): Check<T> {
  return (name, value) => {
    for (const method of methods) aFunction(`${name}.${method}`, (value as T | null)?.[method])
    return value as T
  }
}
