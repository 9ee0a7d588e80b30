// Requests per second, and Node's CPU per request, of each adapter beside its peers: all in one run, interleaved, as
// ratios to the bare framework of the same round. node adapters.js [--rounds 5] [--requests 20000] [--only '^express']
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { startRedis } from './redis.js'

function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? otherwise : process.argv[at + 1]
}
const rounds = Number(option('rounds', 5))
const requests = Number(option('requests', 20_000))
const only = new RegExp(option('only', ''))

const run = (file, ...args) => fork(new URL(file, import.meta.url), args.map(String))
async function told(child) {
  const [message] = await once(child, 'message')
  return message
}
async function cpuUs(server) {
  server.send('cpu')
  const { user, system } = await told(server)
  return user + system
}

async function measure(name, redis) {
  await redis.admin.flushall()
  const server = run('adapters-servers.js', name, redis.port)
  const port = await told(server)
  // Long enough for the code to be compiled as it will be.
  await told(run('adapters-load.js', port, Math.max(4000, requests / 4)))
  const before = await cpuUs(server)
  const perSecond = await told(run('adapters-load.js', port, requests))
  const us = ((await cpuUs(server)) - before) / requests
  server.disconnect()
  await once(server, 'exit')
  return { perSecond, us }
}

const listing = run('adapters-servers.js')
const names = (await told(listing)).filter((name) => only.test(name))
listing.disconnect()
const redis = await startRedis()
const results = new Map(names.map((name) => [name, []]))
for (let round = 0; round < rounds; round += 1)
  for (const name of names) results.get(name).push(await measure(name, redis))
await redis.stop()

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const shown = (values) =>
  `${median(values).toFixed(2)} (${Math.min(...values).toFixed(2)}–${Math.max(...values).toFixed(2)})`
console.log('| | requests/s ÷ bare | CPU of a bare request ÷ its own | CPU added, µs |\n|---|---|---|---|')
for (const [name, own] of results) {
  const bare = results.get(name.split(' + ')[0])
  const speed = shown(own.map(({ perSecond }, i) => perSecond / bare[i].perSecond))
  const cpu = shown(own.map(({ us }, i) => bare[i].us / us))
  const added = median(own.map(({ us }, i) => us - bare[i].us)).toFixed(1)
  console.log(`| ${name} | ${speed} | ${cpu} | ${added} |`)
}
