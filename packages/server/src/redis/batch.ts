import { neverRun, StoreError } from '../failure/store-error.js'
import { listOf } from '../list.js'
import type { Op, Reply } from '../store.js'
import type { Connection } from './connection.js'
import { faultOf } from './fault.js'
import type { KeyOptions } from './key.js'
import { type Call, createPack, type ScriptName } from './pack.js'
import type { Routes } from './routes.js'
import type { Script } from './script.js'
import { type Group, groupsOf, Waiting } from './waiting.js'

/** Gathers the ops of one turn of the event loop and sends them together. */
export interface Batch {
  /** @param read what to make of the reply */
  add<R>(op: Op, deadlineMs: number, read: (reply: Reply) => R): Promise<R>
  /** Takes back an op that nobody waits for any more. @returns why it is still here and is never sent, if so */
  withdraw(op: Op): StoreError | undefined
  /** A connection can be written to (again). */
  ready(): void
  /** Waits for what is under way, for as long as that may take, but no longer than so. */
  drain(mostMs: number): Promise<void>
  close(): void
}

/** Ops unsent or unanswered; beyond it something is badly stuck, and waiting only costs memory. */
const MOST_UNDER_WAY = 10_000
/** So often at most is a call sent again. */
const MOST_DETOURS = 2
/** How long a call waits whose keys are being moved to another node. */
const LATER_MS = 5
/** How long a call that is sent again may wait for a connection, if its own time has passed. */
const AGAIN_MS = 50
const UNSENT = { mayHaveRun: false }

export function createBatch(
  routes: () => Routes,
  scripts: Readonly<Record<ScriptName, Script>>,
  keys: KeyOptions,
): Batch {
  const pack = createPack(keys)
  let queue: Waiting[] = []
  const underWay = new Set<Waiting>()
  let scheduled: NodeJS.Immediate | undefined
  /** Whether what is queued goes at the end of this tick, and not of the turn. */
  let soon = false
  let lastSent = 0
  let closed = false
  /** Called when nothing is under way. */
  let idle = () => {}

  function over(waiting: Waiting): void {
    underWay.delete(waiting)
    if (underWay.size === 0) idle()
  }

  function answer(waiting: Waiting, reply: Reply): void {
    over(waiting)
    waiting.answered(reply)
  }

  function fail(waiting: Waiting, error: StoreError): void {
    over(waiting)
    waiting.failed(error)
  }

  function flush(): void {
    clearImmediate(scheduled)
    scheduled = undefined
    soon = false
    dropOverdue()
    const due = queue
    if (due.length > 0) lastSent = due.length
    queue = listOf()
    const groups = groupsOf(due)
    const corked = groups.length > 1 ? new Set<Connection>() : undefined
    for (const waiting of groups) {
      const { place, via } = waiting[0]
      const connection = routes().at(place, via)
      if (connection === undefined) keepBack(waiting)
      else {
        if (corked !== undefined && !corked.has(connection)) {
          connection.link.cork()
          corked.add(connection)
        }
        send(connection, waiting)
      }
    }
    if (corked !== undefined) for (const { link } of corked) link.uncork()
  }

  function keepBack(waiting: readonly Waiting[]): void {
    for (const one of waiting) one.kept = true
    queue.push(...waiting)
  }

  /**
   * What waited for a connection, and was given up by its caller meanwhile, must not be sent any more. What has not
   * had its first chance yet is sent however late that comes: it is this process that was late.
   */
  function dropOverdue(): void {
    if (!queue.some(isKept)) return
    const now = performance.now()
    const overdue = queue.filter(({ kept, dueMs }) => kept && dueMs <= now)
    if (overdue.length === 0) return
    queue = queue.filter(({ kept, dueMs }) => !kept || dueMs > now)
    for (const waiting of overdue) fail(waiting, notConnected(waiting.place))
  }

  function notConnected(place: number): StoreError {
    const cause = routes().trouble(place)
    if (cause === undefined)
      return new StoreError('disconnected', 'There was no connection to Redis in time', UNSENT)
    return neverRun(faultOf(cause))
  }

  function send(connection: Connection, waiting: Group): void {
    const { whole, via } = waiting[0]
    const call = pack(waiting.map(opOf))
    const over = connection.sent()
    // Its own answer says nothing that the next one does not.
    if (via !== undefined) connection.link.command('ASKING').catch(() => {})
    const failed = (error: unknown) => {
      over()
      failAll(waiting, error)
    }
    try {
      scripts[call.script].run(connection.link, call.keys, call.args, whole).then((said) => {
        over()
        read(call, waiting, said)
      }, failed)
    } catch (error) {
      // A client may be anybody's.
      failed(error)
    }
  }

  function read(call: Call, waiting: Group, said: unknown): void {
    let replies: readonly Reply[]
    try {
      replies = call.read(said)
    } catch (error) {
      failAll(waiting, error)
      return
    }
    for (let i = 0; i < waiting.length; i += 1) answer(waiting[i] as Waiting, replies[i] as Reply)
  }

  /** Unless they can be sent again. */
  function failAll(waiting: Group, error: unknown): void {
    if (sendAgain(waiting, error)) return
    const cause = faultOf(error)
    routes().troubled(waiting[0].place, cause)
    for (const one of waiting) fail(one, cause)
  }

  /** Queues calls again that certainly did not run, and gives up those that nobody waits for. */
  function sendAgain(waiting: Group, error: unknown): boolean {
    const detour = routes().detour(error)
    if (detour === undefined || closed) return false
    const cause = faultOf(error)
    // By its caller and not by the time: that may have passed while this process stood still, its answers unread.
    const again = waiting.filter((one) => one.detours < MOST_DETOURS && !one.givenUp)
    for (const one of waiting) if (!again.includes(one)) fail(one, cause)
    for (const one of again) {
      one.detours += 1
      one.dueMs = Math.max(one.dueMs, performance.now() + AGAIN_MS)
      one.kept = true
      // Another node may not know the script either, and there are few attempts.
      one.whole = true
      one.via = detour.to === 'next' ? detour.address : undefined
    }
    if (detour.to === 'later') setTimeout(requeue, LATER_MS, again).unref()
    else requeue(again)
    return true
  }

  function requeue(again: readonly Waiting[]): void {
    if (closed) return
    queue.push(...again)
    flush()
  }

  return {
    add: (op, deadlineMs, read) =>
      new Promise((resolve, reject) => {
        if (closed) throw new StoreError('closed', 'The store is closed', UNSENT)
        if (underWay.size >= MOST_UNDER_WAY)
          throw new StoreError('overloaded', `Redis has left ${MOST_UNDER_WAY} calls unanswered`, UNSENT)
        const dueMs = performance.now() + deadlineMs
        const answered = (reply: Reply) => resolve(read(reply))
        const waiting = new Waiting(op, routes().placeOf(op), dueMs, answered, reject)
        // Where calls come one by one, none need wait for others to travel with.
        soon ||= underWay.size === 0 && lastSent === 1
        underWay.add(waiting)
        queue.push(waiting)
        if (queue.length >= routes().most && routes().at(waiting.place, undefined) !== undefined) flush()
        else if (!soon) scheduled ??= setImmediate(flush)
        else if (queue.length === 1) process.nextTick(flush)
      }),
    withdraw(op) {
      // All wait equally long, so what took too long stands first.
      const at = queue.findIndex((waiting) => waiting.op === op)
      const [waiting] = at < 0 ? [] : queue.splice(at, 1)
      if (waiting === undefined) {
        for (const one of underWay) if (one.op === op) one.givenUp = true
        return undefined
      }
      const why = notConnected(waiting.place)
      fail(waiting, why)
      return why
    },
    ready: flush,
    async drain(mostMs) {
      const latest = Math.max(0, ...[...underWay].map(({ dueMs }) => dueMs))
      const until = Math.min(latest, performance.now() + mostMs)
      while (underWay.size > 0 && performance.now() < until) {
        await new Promise<void>((resolve) => {
          const late = setTimeout(resolve, until - performance.now())
          idle = () => {
            clearTimeout(late)
            // What goes in several rounds goes on when one of them is answered.
            setImmediate(resolve)
          }
        })
      }
    },
    close() {
      closed = true
      clearImmediate(scheduled)
      queue = []
      for (const one of underWay) fail(one, new StoreError('closed', 'The store was closed'))
    },
  }
}

const isKept = ({ kept }: Waiting) => kept
const opOf = ({ op }: Waiting) => op
