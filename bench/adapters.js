// Requests per second, and Node's CPU per request, of each adapter beside its peers, as ratios to the bare framework of
// the same round: node adapters.js [--rounds 15] [--requests 1500] [--only '^express']. All servers run from the beginning
// and take turns, in another order each round: many short rounds, so that what else the machine does falls upon all alike.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startRedis } from './redis.js'

function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? otherwise : process.argv[at + 1]
}
const rounds = Number(option('rounds', 15))
const requests = Number(option('requests', 1500))
const only = new RegExp(option('only', ''))
/** Long enough for the code to be compiled as it will be. */
const WARM_UP = 5000

const run = (file, ...args) => fork(new URL(file, import.meta.url), args.map(String))
async function told(child, message) {
  if (message !== undefined) child.send(message)
  const [answer] = await once(child, 'message')
  return answer
}
async function stop(child) {
  child.disconnect()
  await once(child, 'exit')
}

async function measure({ server, port, results }) {
  const before = await told(server, 'usage')
  const perSecond = await told(load, { port, requests })
  const after = await told(server, 'usage')
  const cpuUs = after.cpuUs - before.cpuUs
  results.push({ perSecond, us: cpuUs / requests, busy: cpuUs / 1000 / (after.atMs - before.atMs) })
}

const listing = run('adapters-servers.js')
const names = (await told(listing)).filter((name) => only.test(name))
await stop(listing)
const redis = await startRedis()
const load = run('adapters-load.js')
const measured = []
for (const name of names) {
  const server = run('adapters-servers.js', name, redis.port)
  const port = await told(server)
  await told(load, { port, requests: WARM_UP })
  measured.push({ name, server, port, results: [] })
}
for (let round = 0; round < rounds; round += 1) {
  const first = Math.floor((round * measured.length) / rounds)
  for (const each of [...measured.slice(first), ...measured.slice(0, first)]) await measure(each)
}
for (const { server } of measured) await stop(server)
await stop(load)
await redis.stop()

function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * part)]
}
/** The median, and the range of the middle half. */
const shown = (values) =>
  `${quantile(values, 0.5).toFixed(2)} (${quantile(values, 0.25).toFixed(2)}–${quantile(values, 0.75).toFixed(2)})`
console.log(
  '| | requests/s ÷ bare | CPU of a bare request ÷ its own | CPU added, µs | CPU ÷ time |\n|---|---|---|---|---|',
)
for (const { name, results } of measured) {
  const bare = measured.find((each) => each.name === name.split(' + ')[0])?.results
  if (bare === undefined) throw new Error(`Expected --only to take in the bare framework of ${name}`)
  const speed = shown(results.map(({ perSecond }, i) => perSecond / bare[i].perSecond))
  const cpu = shown(results.map(({ us }, i) => bare[i].us / us))
  const added = quantile(
    results.map(({ us }, i) => us - bare[i].us),
    0.5,
  ).toFixed(1)
  const busy = quantile(
    results.map(({ busy }) => busy),
    0.5,
  ).toFixed(2)
  console.log(`| ${name} | ${speed} | ${cpu} | ${added} | ${busy} |`)
}
