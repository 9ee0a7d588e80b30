import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Counts } from './tally.js'

/** What the API's process tells. */
export type Report =
  | {
      readonly type: 'ready'
      readonly url: string
      readonly store: 'redis' | 'memory'
      readonly about: string
    }
  | { readonly type: 'counts'; readonly counts: Counts }
  | { readonly type: 'failed'; readonly why: string }

/** The running orders API. */
export interface Orders {
  readonly url: string
  readonly store: 'redis' | 'memory'
  readonly about: string
  /** What it has seen of the client with this key. */
  counts(key: string): Promise<Counts>
  stop(): Promise<void>
}

/** How long the API may take to end. */
const patienceMs = 5000

/** Starts the API in its own process. @throws Error when it does not come up */
export async function startOrders(): Promise<Orders> {
  const child = fork(new URL('orders-api.ts', import.meta.url), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const { url, store, about } = await next(child, 'ready')
  return {
    url,
    store,
    about,
    async counts(key) {
      const answer = next(child, 'counts')
      child.send(key)
      return (await answer).counts
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exit = once(child, 'exit')
      const kill = setTimeout(() => child.kill('SIGKILL'), patienceMs)
      child.disconnect()
      await exit
      clearTimeout(kill)
    },
  }
}

/** The next report of a kind; it is an error when the process fails or ends first. */
function next<T extends Report['type']>(child: ChildProcess, type: T): Promise<Extract<Report, { type: T }>> {
  return new Promise((resolve, reject) => {
    const listen = (report: Report): void => {
      if (report.type === type) resolve(report as Extract<Report, { type: T }>)
      else if (report.type === 'failed') reject(new Error(report.why))
      else return
      child.off('message', listen).off('exit', fail)
    }
    const fail = (): void => reject(new Error('The orders API ended before its time'))
    child.on('message', listen).once('exit', fail)
  })
}
