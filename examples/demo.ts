// npm run demo: 300 calls at once to a limited API, by plain fetch with a fixed retry and by a paced client.
import { once } from 'node:events'
import { type ClientName, type MakeCall, pacedFetch, plainFetch, titles } from './demo/clients.js'
import { type Mode, readMode, usage } from './demo/mode.js'
import { type Orders, startOrders } from './demo/orders.js'
import { showProgress } from './demo/progress.js'
import { introduction, json, table } from './demo/report.js'
import { type Result, run } from './demo/run.js'

const patienceMs = 120_000

async function compare(orders: Orders, mode: 'table' | 'json'): Promise<readonly Result[]> {
  const patience = setTimeout(() => fail(`Not done after ${patienceMs / 1000} s`), patienceMs)
  const clients: readonly [ClientName, MakeCall][] = [
    ['fetch', plainFetch],
    ['ratepact', pacedFetch()],
  ]
  const results: Result[] = []
  for (const [name, makeCall] of clients) {
    const progress = showProgress(titles[name], process.stderr)
    results.push(await run(name, makeCall, orders, mode === 'json' ? () => {} : progress.watch))
    if (mode === 'table') progress.end()
  }
  clearTimeout(patience)
  return results
}

async function serve({ url, about }: Orders): Promise<void> {
  console.log(`\n  The orders API is up and counts in ${about}. Try it, until Ctrl-C:\n`)
  console.log(`  curl -i -X POST -H 'x-api-key: me' ${url}/orders\n`)
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
}

async function main(mode: Exclude<Mode, 'help'>): Promise<void> {
  const orders = await startOrders()
  try {
    if (mode === 'serve') return await serve(orders)
    if (mode === 'table') console.log(introduction(orders))
    const results = await compare(orders, mode)
    console.log(mode === 'json' ? json(orders, results) : table(results))
    if (results.some(({ calls, completed }) => completed < calls)) process.exitCode = 1
  } finally {
    await orders.stop()
  }
}

function readModeOrExit(): Exclude<Mode, 'help'> {
  try {
    const mode = readMode(process.argv.slice(2))
    if (mode !== 'help') return mode
    console.log(usage)
    return process.exit(0)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    return process.exit(2)
  }
}

function fail(why: unknown): never {
  console.error(why instanceof Error ? why.message : why)
  return process.exit(1)
}

await main(readModeOrExit()).catch(fail)
