import { asStoreError, StoreError } from '../failure/store-error.js'
import type { Op, Reply } from '../store.js'
import type { Connection } from './connection.js'
import type { KeyOptions } from './key.js'
import { pack, type ScriptName, scriptFor } from './pack.js'
import type { Script } from './script.js'

interface Waiting {
  readonly op: Op
  readonly dueMs: number
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

export function createBatch(
  connection: () => Connection,
  scripts: Readonly<Record<ScriptName, Script>>,
  keys: KeyOptions,
): Batch {
  let queue: Waiting[] = []
  const underWay = new Set<Waiting>()
  let scheduled: NodeJS.Immediate | undefined
  let closed = false

  function flush(): void {
    clearImmediate(scheduled)
    scheduled = undefined
    dropOverdue()
    if (!connection().ready()) return
    const due = queue
    queue = []
    for (const run of runsOf(due)) send(run)
  }

  /** What its caller has given up on must not be sent any more. */
  function dropOverdue(): void {
    const now = performance.now()
    if (!queue.some(({ dueMs }) => dueMs <= now)) return
    const overdue = queue.filter(({ dueMs }) => dueMs <= now)
    queue = queue.filter(({ dueMs }) => dueMs > now)
    for (const { reject } of overdue) reject(new StoreError('timeout', 'Redis could not be reached in time'))
  }

  function send(waiting: readonly Waiting[]): void {
    const ops = waiting.map(({ op }) => op)
    const call = pack(ops, keys)
    scripts[call.script]
      .run(connection().client, call.keys, call.args)
      .then((answer) => {
        const replies = call.read(answer)
        for (const [i, { resolve }] of waiting.entries()) resolve(replies[i] as Reply)
      })
      .catch((error: unknown) => {
        const cause = asStoreError(error)
        for (const { reject } of waiting) reject(cause)
      })
  }

  return {
    async add(op, deadlineMs) {
      if (closed) throw new StoreError('closed', 'The store is closed')
      if (underWay.size >= MOST_UNDER_WAY)
        throw new StoreError('overloaded', `Redis has left ${MOST_UNDER_WAY} calls unanswered`)
      let waiting: Waiting | undefined
      try {
        return await new Promise<Reply>((resolve, reject) => {
          waiting = { op, dueMs: performance.now() + deadlineMs, resolve, reject }
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
