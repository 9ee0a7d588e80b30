import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const INSTANCES = 4
/** Of which the smaller gives every process one unit, though it has fewer. */
export const quotas = [40, 2]
export const WINDOW_MS = 1000

/** How much was admitted, by the number of the window: its end in windows since 1970. */
export type Admissions = Record<string, number>

export interface State {
  /** Calls that the store has admitted. */
  readonly byStore: number
  /** Limiters that count without the store. */
  readonly without: number
  /** When one of them last told of the store, by Date.now(). */
  readonly changedMs: number
}

/** Processes with a service each. */
export interface Fleet {
  readonly ports: readonly number[]
  states(): Promise<readonly State[]>
  /** Over all processes, by quota. */
  admitted(): Promise<ReadonlyMap<number, Admissions>>
  stop(): Promise<void>
}

export async function startFleet(redisPort: number): Promise<Fleet> {
  const members = Array.from({ length: INSTANCES }, () => startMember(redisPort))
  const ask = (question: string) => Promise.all(members.map((member) => member.ask(question)))
  return {
    ports: (await ask('')) as number[],
    states: async () => (await ask('state')) as State[],
    async admitted() {
      const all = (await ask('admitted')) as Record<number, Admissions>[]
      return new Map(quotas.map((quota) => [quota, sum(all.map((one) => one[quota] ?? {}))]))
    },
    async stop() {
      for (const { child } of members) child.stdin?.end()
      await Promise.all(
        members.map(({ child }) => (child.exitCode === null ? once(child, 'exit') : undefined)),
      )
    },
  }
}

function sum(all: readonly Admissions[]): Admissions {
  const total: Admissions = {}
  for (const one of all)
    for (const [window, count] of Object.entries(one)) total[window] = (total[window] ?? 0) + count
  return total
}

interface Member {
  readonly child: ChildProcess
  /** What it says to a question; to none, what it says next. */
  ask(question: string): Promise<unknown>
}

function startMember(redisPort: number): Member {
  const path = fileURLToPath(new URL('fleet-service.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=@ratepact/source', path, String(redisPort)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    async ask(question) {
      if (question !== '') child.stdin.write(`${question}\n`)
      const line = await lines.next()
      if (line.done === true) throw new Error(`a service ended with ${child.exitCode}`)
      return JSON.parse(line.value)
    },
  }
}
