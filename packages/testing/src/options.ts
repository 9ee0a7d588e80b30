import { type Clock, systemClock } from '@ratepact/contract'
import type { Cost, KindOf, LimiterSettings, NameOf, PartitionInput, Policy } from '@ratepact/server'
import type { HeaderOptions } from '@ratepact/server/fetch'
import { checkFunction, checkMembers, checkNumber, expected } from './check.js'
import { credentialOf } from './credential.js'

export interface LimitedApiOptions<P extends readonly Policy[] = readonly Policy[]> {
  /** What is granted, made by the server's builders. */
  readonly policies: P
  /** What is counted by, and what `latencySeconds` passes on. A `testClock()` in tests. @default the machine's */
  readonly clock?: Clock
  /**
   * Who shares a quota. Needed when a policy counts anything but `client`.
   * @default the text of `x-api-key`, else of `Authorization`, else 'anonymous'
   */
  partition?(request: Request): PartitionInput<KindOf<P>>
  /** Units that a call takes. @default 1 */
  cost?(request: Request): Cost<NameOf<P>>
  /** What is called, for policies that count per scope. @default method and path */
  scope?(request: Request): string
  /** For how many seconds a call may be held until its units are there, instead of refused. @default not at all */
  readonly hold?: number
  /** Whether to state how many client processes share a quota, from their `Ratepact-Instance`. @default false */
  readonly countInstances?: boolean
  /** How limits are stated; `false`: not at all. @default as the server does */
  readonly headers?: false | HeaderOptions
  /**
   * Answers what is admitted. What it throws reaches the client as a network error.
   * @default 200 with the JSON body `{"ok":true}`
   */
  respond?(request: Request): Response | Promise<Response>
  /** The time from sending to the answer; half of it passes before the call is counted. @default 0 */
  readonly latencySeconds?: number
}

/** Options once checked. */
export interface Settings {
  readonly policies: readonly Policy[]
  readonly clock: Clock
  readonly partition: (request: Request) => PartitionInput
  readonly cost: ((request: Request) => Cost) | undefined
  readonly scope: (request: Request) => string
  readonly crowd: Pick<LimiterSettings, 'hold' | 'countInstances'>
  readonly headers: false | HeaderOptions
  readonly respond: (request: Request) => Response | Promise<Response>
  readonly latencyMs: number
}

const names = [
  ...['policies', 'clock', 'partition', 'cost', 'scope', 'hold', 'countInstances', 'headers', 'respond'],
  'latencySeconds',
]
const mostLatencySeconds = 3600

/** Policies, headers and what helps crowds are checked by the server, which they are for. */
export function readOptions(options: LimitedApiOptions): Settings {
  checkMembers('limitedApi', options, names)
  const { policies, clock = systemClock, latencySeconds = 0, partition, cost, scope, respond } = options
  for (const [name, value] of Object.entries({ partition, cost, scope, respond })) checkFunction(name, value)
  checkNumber('latencySeconds', latencySeconds, 0, mostLatencySeconds)
  checkClock(clock)
  if (partition === undefined) checkCountsClientOnly(policies)
  return {
    policies,
    clock,
    partition: partition ?? credentialOf,
    cost,
    scope: scope ?? ((request) => `${request.method} ${new URL(request.url).pathname}`),
    crowd: {
      ...(options.hold !== undefined && { hold: options.hold }),
      ...(options.countInstances !== undefined && { countInstances: options.countInstances }),
    },
    headers: options.headers ?? {},
    respond: respond ?? (() => Response.json({ ok: true })),
    latencyMs: latencySeconds * 1000,
  }
}

function checkClock(clock: unknown): void {
  const given = typeof clock === 'object' && clock !== null ? (clock as Partial<Clock>) : {}
  const whole = [given.now, given.setTimeout, given.clearTimeout].every((each) => typeof each === 'function')
  if (!whole) throw new TypeError(expected('clock', 'a clock with now, setTimeout and clearTimeout', clock))
}

/** Without a function that says more, one text says who calls: that of the kind `client`. */
function checkCountsClientOnly(policies: unknown): void {
  if (!Array.isArray(policies)) return
  const other = (policies as readonly Partial<Policy>[]).find((policy) => policy?.by !== 'client')?.by
  if (other === undefined) return
  throw new TypeError(expected('partition', `a function, since a policy counts by "${other}"`, undefined))
}
