// Requests per second, and Node's CPU per request, of each adapter beside its peers, as ratios to the bare framework of
// the same round: node adapters.js [--rounds 15] [--seconds 1] [--only '^express']. All servers run from the beginning
// and take turns, in another order each round: many short rounds, so that what else the machine does falls upon all alike.
// The load is wrk's (Debian: apt-get install wrk), since one in JavaScript is slower than a bare node:http is.
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from './redis.js'

function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? otherwise : process.argv[at + 1]
}
const rounds = Number(option('rounds', 15))
const seconds = Number(option('seconds', 1))
const only = new RegExp(option('only', ''))
/** Long enough for the code to be compiled as it will be. */
const WARM_UP_SECONDS = 3

const run = (...args) => fork(new URL('adapters-servers.js', import.meta.url), args.map(String))
async function told(child, message) {
  if (message !== undefined) child.send(message)
  const [answer] = await once(child, 'message')
  return answer
}
async function stop(child) {
  child.disconnect()
  await once(child, 'exit')
}

const exec = promisify(execFile)
const script = fileURLToPath(new URL('adapters-load.lua', import.meta.url))
/** @returns how many requests were answered, and how many a second */
async function load(port, seconds) {
  const args = ['-t1', '-c64', `-d${seconds}s`, '-s', script, `http://127.0.0.1:${port}/`]
  const { stdout } = await exec('wrk', args).catch((error) => {
    throw error.code === 'ENOENT'
      ? new Error('Expected wrk on the PATH (Debian: apt-get install wrk)')
      : error
  })
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`Expected only answers of 200: ${stdout}`)
  const [, answered] = /(\d+) requests in/.exec(stdout)
  const [, perSecond] = /Requests\/sec:\s+([\d.]+)/.exec(stdout)
  return { answered: Number(answered), perSecond: Number(perSecond) }
}

async function measure({ server, port, results }) {
  const before = await told(server, 'usage')
  const { answered, perSecond } = await load(port, seconds)
  const after = await told(server, 'usage')
  const cpuUs = after.cpuUs - before.cpuUs
  results.push({ perSecond, us: cpuUs / answered, busy: cpuUs / 1000 / (after.atMs - before.atMs) })
}

const listing = run()
const names = (await told(listing)).filter((name) => only.test(name))
await stop(listing)
const redis = await startRedis()
const measured = []
for (const name of names) {
  const server = run(name, redis.port)
  const port = await told(server)
  await load(port, WARM_UP_SECONDS)
  measured.push({ name, server, port, results: [] })
}
for (let round = 0; round < rounds; round += 1) {
  const first = Math.floor((round * measured.length) / rounds)
  for (const each of [...measured.slice(first), ...measured.slice(0, first)]) await measure(each)
}
for (const { server } of measured) await stop(server)
await redis.stop()

function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * part)]
}
/** The median, and the range of the middle half. */
const shown = (values) =>
  `${quantile(values, 0.5).toFixed(2)} (${quantile(values, 0.25).toFixed(2)}–${quantile(values, 0.75).toFixed(2)})`
console.log('| | requests/s ÷ bare | CPU of a bare request ÷ its own | CPU added, µs | of, µs | CPU ÷ time |')
console.log('|---|---|---|---|---|---|')
for (const { name, results } of measured) {
  const bare = measured.find((each) => each.name === name.split(' + ')[0])?.results
  if (bare === undefined) throw new Error(`Expected --only to take in the bare framework of ${name}`)
  const median = (value) => quantile(results.map(value), 0.5)
  const speed = shown(results.map(({ perSecond }, i) => perSecond / bare[i].perSecond))
  const cpu = shown(results.map(({ us }, i) => bare[i].us / us))
  const added = median(({ us }, i) => us - bare[i].us).toFixed(1)
  const own = median(({ us }) => us).toFixed(0)
  console.log(
    `| ${name} | ${speed} | ${cpu} | ${added} | ${own} | ${median(({ busy }) => busy).toFixed(2)} |`,
  )
}
