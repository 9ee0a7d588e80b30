import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClientName, MakeCall } from './clients.js'
import { calls, idealSeconds } from './limits.js'
import type { Orders } from './orders.js'
import type { Counts } from './tally.js'

/** How one client did; sends and refusals as the API counted them. */
export interface Result {
  readonly name: ClientName
  readonly calls: number
  readonly completed: number
  readonly refused: number
  readonly sends: number
  readonly seconds: number
  /** Seconds over the least possible. */
  readonly ratio: number
}

/** Told now and then how far a client has come, and after how many seconds. */
export type Watch = (counts: Counts, seconds: number) => void

/** Makes all calls at once, as a client with a key and so a bucket of its own, and waits for them. */
export async function run(
  name: ClientName,
  makeCall: MakeCall,
  orders: Orders,
  watch: Watch,
): Promise<Result> {
  const key = `${name}-${randomUUID()}`
  const init = { method: 'POST', headers: { 'x-api-key': key } }
  const begin = performance.now()
  const elapsed = (): number => (performance.now() - begin) / 1000
  let over = false
  const watching = (async () => {
    for (; !over; await sleep(100)) watch(await orders.counts(key), elapsed())
  })()
  const outcomes = Array.from({ length: calls }, () =>
    makeCall(`${orders.url}/orders`, init).catch(() => false),
  )
  const completed = (await Promise.all(outcomes)).filter(Boolean).length
  const seconds = elapsed()
  over = true
  await watching
  const counts = await orders.counts(key)
  watch(counts, seconds)
  const { sends, refused } = counts
  return {
    name,
    calls,
    completed,
    refused,
    sends,
    seconds: round(seconds),
    ratio: round(seconds / idealSeconds),
  }
}

function round(number: number): number {
  return Math.round(number * 1000) / 1000
}
