import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Count, Ports, Row } from './rows.js'

/** Processes that do a row at once, again and again. */
export interface Crew {
  play(row: Row): Promise<readonly Count[]>
  stop(): Promise<void>
}

interface Worker {
  readonly child: ChildProcess
  say(line: string): void
  hear(): Promise<unknown>
}

export function startCrew(size: number, ports: Ports): Crew {
  const workers = Array.from({ length: size }, () => startWorker(ports))
  return {
    async play(row) {
      for (const worker of workers) worker.say(JSON.stringify(row))
      for (const word of await Promise.all(workers.map((worker) => worker.hear())))
        if (word !== 'ready') throw new Error(`a worker said ${JSON.stringify(word)}`)
      for (const worker of workers) worker.say('go')
      return (await Promise.all(workers.map((worker) => worker.hear()))) as Count[]
    },
    async stop() {
      for (const { child } of workers) child.stdin?.end()
      await Promise.all(
        workers.map(({ child }) => (child.exitCode === null ? once(child, 'exit') : undefined)),
      )
    },
  }
}

function startWorker({ redis, cluster }: Ports): Worker {
  const path = fileURLToPath(new URL('worker.ts', import.meta.url))
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=@ratepact/source', path, String(redis), String(cluster)],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    child,
    say: (line) => child.stdin.write(`${line}\n`),
    async hear() {
      const line = await lines.next()
      if (line.done === true) throw new Error(`a worker ended with ${child.exitCode}`)
      return JSON.parse(line.value)
    },
  }
}
