import { expected, expectInteger, expectObject, expectOneOf, expectOnly } from '../expect.js'
import { StoreError } from '../failure/store-error.js'
import { listOf } from '../list.js'
import { KIND } from '../policy.js'
import type { Op, Reply, Store, StoreEvent } from '../store.js'
import { createBatch } from './batch.js'
import { checkRedis } from './check.js'
import { knownClient, type RedisClient } from './client.js'
import { createApart } from './cluster/apart.js'
import { createSlots } from './cluster/slots.js'
import { withTrialsApart } from './cluster/trials-apart.js'
import { isCluster, openRoutes, shareRoutes } from './open.js'
import type { ScriptName } from './pack.js'
import type { Routes } from './routes.js'
import { createScript } from './script.js'
import * as shipped from './scripts.js'

export interface RedisStoreOptions {
  /** What every key begins with; the version of the encoding follows it. @default 'rl' */
  readonly prefix?: string
  /** How long a decision may take, in ms, before the limiter goes on without Redis. @default 50 */
  readonly timeoutMs?: number
  /**
   * `own`: a duplicate of the client, set so that a call is charged at most once and never after its deadline.
   * `shared`: the client itself, whose queues and retries then apply. @default 'own'
   */
  readonly connection?: 'own' | 'shared'
  /** Hashes identities, so that they cannot be read from the keys; scopes are written as they are. @default false */
  readonly hashPartitions?: boolean
  /**
   * A kind of partition, such as `'account'`, that each call must name: all that a call charges is then kept on the node
   * of a Cluster that has this partition, and takes one trip. Other kinds are counted within it: `by: 'client'` counts
   * each client of each account. @default none: each partition is kept by itself
   */
  readonly slotBy?: string
}

/** The scripts, and arguments that go with every call of them. */
export interface Scripts {
  readonly consume: string
  readonly buckets: string
  readonly reset: string
  readonly adjust: string
  readonly lease: string
  readonly block: string
  readonly advance: string
  /** Arguments appended to each call. */
  readonly extra?: () => readonly string[]
}

const alone = (reply: Reply): readonly Reply[] => listOf(reply)

/** So long at most a store that is closed waits for answers to what it was asked before. */
const LONGEST_END_MS = 1000
const PREFIX = /^[a-zA-Z0-9_.:/-]{1,64}$/

/**
 * Buckets in Redis, decided by a script: atomic, in one round trip, by Redis's own clock.
 * @param client `Redis` or `Cluster` of ioredis 5 or 6, or a client or cluster of node-redis 5 or 6; connected or not,
 * it is left as it is
 * @throws TypeError or RangeError naming the option, the value and the rule
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  return createRedisStore(client, options, shipped)
}

/** The same with other scripts: tests swap the clock. */
export function createRedisStore(client: RedisClient, options: RedisStoreOptions, scripts: Scripts): Store {
  const known = knownClient(client)
  expectObject('the options of redisStore', options)
  expectOnly('redisStore', options, ['prefix', 'timeoutMs', 'connection', 'hashPartitions', 'slotBy'])
  const { prefix = 'rl', timeoutMs = 50, connection: kind = 'own', hashPartitions = false, slotBy } = options
  if (typeof prefix !== 'string' || !PREFIX.test(prefix))
    throw new TypeError(expected('prefix', `1 to 64 characters matching ${PREFIX.source}`, prefix))
  expectInteger('timeoutMs', timeoutMs, 1, 60_000)
  expectOneOf('connection', kind, ['own', 'shared'])
  expectOneOf('hashPartitions', hashPartitions, [true, false])
  if (slotBy !== undefined && !(typeof slotBy === 'string' && KIND.test(slotBy)))
    throw new TypeError(expected('slotBy', `a kind of partition matching ${KIND.source}`, slotBy))
  const keys = { prefix, hashPartitions }
  const slots = createSlots(keys)

  const listeners = new Set<(event: StoreEvent) => void>()
  const script = (name: ScriptName) => createScript(scripts[name], scripts.extra)
  const batch = createBatch(
    () => routes,
    {
      consume: script('consume'),
      buckets: script('buckets'),
      reset: script('reset'),
      adjust: script('adjust'),
      lease: script('lease'),
      block: script('block'),
      advance: script('advance'),
    },
    keys,
  )
  const open = kind === 'own' ? openRoutes : shareRoutes
  const routes: Routes = open(known, slots.ofOp, timeoutMs, {
    ready: () => batch.ready(),
    report: (event) => {
      for (const report of listeners) report(event)
    },
  })
  const apart = isCluster(known)
    ? withTrialsApart(createApart(batch, slots.ofOwner), slots.ofOwner)
    : undefined

  let closing: Promise<void> | undefined
  async function end(): Promise<void> {
    await batch.drain(LONGEST_END_MS)
    batch.close()
    routes.close()
  }

  return {
    name: 'redis',
    remote: true,
    advances: true,
    timeoutMs,
    ...(slotBy !== undefined && { slotBy }),
    run(ops, deadlineMs) {
      if (closing !== undefined)
        return Promise.reject(new StoreError('closed', 'The store is closed', { mayHaveRun: false }))
      const first = ops[0]
      if (apart !== undefined) return Promise.all(ops.map((op) => apart.add(op, deadlineMs)))
      if (first !== undefined && ops.length === 1) return batch.add(first, deadlineMs, alone)
      return Promise.all(ops.map((op) => batch.add(op, deadlineMs, (reply) => reply)))
    },
    withdraw: (apart ?? batch).withdraw,
    ...(apart !== undefined && {
      placeOf(op: Op) {
        const parts = new Set(slots.allOf(op).map(routes.partOf))
        return parts.has(undefined) || parts.size === 0 ? undefined : [...parts].sort().join(', ')
      },
    }),
    observe: (listener) => {
      listeners.add(listener)
    },
    check() {
      const sources = Object.values(scripts).filter((source) => typeof source === 'string')
      return checkRedis({ known, connection: kind, routes, keys, sources })
    },
    close() {
      closing ??= end()
      return closing
    },
  }
}
