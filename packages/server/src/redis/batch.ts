import { asStoreError, StoreError } from '../failure/store-error.js'
import type { Op, Reply } from '../store.js'
import type { Connection } from './connection.js'
import type { KeyOptions } from './key.js'
import { createPack, type ScriptName, scriptFor } from './pack.js'
import type { Script } from './script.js'

interface Waiting {
  readonly op: Op
  readonly dueMs: number
  /** Whether it has been kept back because there was no connection. */
  kept: boolean
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: StoreError) => void
}

/** Gathers the ops of one turn of the event loop and sends them together. */
export interface Batch {
  add(op: Op, deadlineMs: number): Promise<Reply>
  /** The connection can be written to (again). */
  ready(): void
  close(): void
}

/** More of them in one call gain little, and block Redis for longer. */
const MOST_PER_CALL = 32
/** Ops unsent or unanswered; beyond it something is badly stuck, and waiting only costs memory. */
const MOST_UNDER_WAY = 10_000

/** A connection on which nothing has come back for so long is replaced. */
const SILENT_MS = 2000
/** Answers of a server that will go on giving them, while another may be at the address by now. */
const OF_NO_USE = /\b(READONLY|MASTERDOWN|NOAUTH)\b/

export function createBatch(
  connection: () => Connection,
  scripts: Readonly<Record<ScriptName, Script>>,
  keys: KeyOptions,
): Batch {
  const pack = createPack(keys)
  let queue: Waiting[] = []
  const underWay = new Set<Waiting>()
  /** Calls that Redis has not answered, oldest first. */
  const unanswered = new Set<{ readonly atMs: number }>()
  let scheduled: NodeJS.Immediate | undefined
  let suspicion: NodeJS.Immediate | undefined
  let closed = false

  function flush(): void {
    clearImmediate(scheduled)
    scheduled = undefined
    dropOverdue()
    if (!connection().ready()) {
      for (const waiting of queue) waiting.kept = true
      return
    }
    const due = queue
    queue = []
    for (const run of runsOf(due)) send(run)
  }

  /**
   * What waited for a connection, and was given up by its caller meanwhile, must not be sent any more. What has not
   * had its first chance yet is sent however late that comes: it is this process that was late.
   */
  function dropOverdue(): void {
    const now = performance.now()
    const overdue = queue.filter(({ kept, dueMs }) => kept && dueMs <= now)
    if (overdue.length === 0) return
    queue = queue.filter(({ kept, dueMs }) => !kept || dueMs > now)
    for (const { reject } of overdue)
      reject(new StoreError('disconnected', 'There was no connection to Redis in time'))
  }

  /** Whether Redis has owed an answer for so long that the connection cannot be trusted. */
  function isSilent(): boolean {
    const [oldest] = unanswered
    return oldest !== undefined && performance.now() - oldest.atMs >= SILENT_MS
  }

  /** A process that stood still has not looked yet what came meanwhile: it does before it speaks of silence. */
  function suspectSilence(): void {
    if (suspicion !== undefined) return
    suspicion = setImmediate(() => {
      suspicion = undefined
      if (closed || !isSilent()) return
      unanswered.clear()
      connection().replace()
    })
  }

  /** Whether the caller of any of these still waits. */
  function isWanted(waiting: readonly Waiting[]): boolean {
    const now = performance.now()
    return waiting.some((one) => one.dueMs > now && underWay.has(one))
  }

  function send(waiting: readonly Waiting[]): void {
    const ops = waiting.map(({ op }) => op)
    const call = pack(ops)
    const sent = { atMs: performance.now() }
    unanswered.add(sent)
    scripts[call.script]
      .run(connection().client, call.keys, call.args, () => isWanted(waiting))
      .finally(() => unanswered.delete(sent))
      .then((answer) => {
        const replies = call.read(answer)
        for (const [i, { resolve }] of waiting.entries()) resolve(replies[i] as Reply)
      })
      .catch((error: unknown) => {
        const cause = asStoreError(error)
        if (OF_NO_USE.test(cause.message)) connection().replace()
        for (const { reject } of waiting) reject(cause)
      })
  }

  return {
    async add(op, deadlineMs) {
      if (closed) throw new StoreError('closed', 'The store is closed')
      if (underWay.size >= MOST_UNDER_WAY)
        throw new StoreError('overloaded', `Redis has left ${MOST_UNDER_WAY} calls unanswered`)
      if (isSilent()) suspectSilence()
      let waiting: Waiting | undefined
      try {
        return await new Promise<Reply>((resolve, reject) => {
          waiting = { op, dueMs: performance.now() + deadlineMs, kept: false, resolve, reject }
          underWay.add(waiting)
          queue.push(waiting)
          if (queue.length >= MOST_PER_CALL && connection().ready()) flush()
          else scheduled ??= setImmediate(flush)
        })
      } finally {
        if (waiting !== undefined) underWay.delete(waiting)
      }
    },
    ready: flush,
    close() {
      closed = true
      clearImmediate(scheduled)
      queue = []
      for (const { reject } of underWay) reject(new StoreError('closed', 'The store was closed'))
    },
  }
}

/** Cuts a queue into runs that one script call can carry: of one kind of script, and not too long. */
function runsOf(queue: readonly Waiting[]): Waiting[][] {
  const runs: Waiting[][] = []
  for (const waiting of queue) {
    const run = runs.at(-1)
    const first = run?.[0]
    if (
      run === undefined ||
      first === undefined ||
      !travelTogether(first.op, waiting.op) ||
      run.length >= MOST_PER_CALL
    )
      runs.push([waiting])
    else run.push(waiting)
  }
  return runs
}

function travelTogether(one: Op, other: Op): boolean {
  return scriptFor(one) === scriptFor(other) && one.kind !== 'block'
}
