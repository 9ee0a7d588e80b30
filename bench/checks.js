// Checks per second, CPU of Node and of Redis per check: all contenders in one run, interleaved, as ratios to the plain
// script of the same round. node checks.js [--rounds 5] [--calls 20000]
import { contenders } from './contenders.js'
import { cpuOf, startRedis } from './redis.js'

const option = (name, otherwise) => Number(process.argv[process.argv.indexOf(`--${name}`) + 1] || otherwise)
const rounds = process.argv.includes('--rounds') ? option('rounds') : 5
const calls = process.argv.includes('--calls') ? option('calls') : 20_000

const loads = {
  '10 000 keys, 64 in flight': { keys: 10_000, inFlight: 64, limit: 1_000_000 },
  '10 000 keys, 512 in flight': { keys: 10_000, inFlight: 512, limit: 1_000_000 },
  '10 000 keys, one at a time': { keys: 10_000, inFlight: 1, limit: 1_000_000, share: 0.25 },
  'hot key, allowed, 64 in flight': { keys: 1, inFlight: 64, limit: 10_000_000 },
  'hot key, refused, 64 in flight': { keys: 1, inFlight: 64, limit: 1 },
}

async function measure(redis, make, { keys, inFlight, limit, share = 1 }) {
  const total = calls * share
  await redis.admin.flushall()
  const client = redis.client()
  const { check, close } = make(client, limit)
  for (let i = 0; i < 2000; i += 1) await check(`key-${i % keys}`)
  const [redisBefore, nodeBefore, started] = [await cpuOf(redis.admin), process.cpuUsage(), performance.now()]
  let sent = 0
  const worker = async () => {
    while (sent < total) {
      sent += 1
      await check(`key-${(sent * 7919) % keys}`)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  const seconds = (performance.now() - started) / 1000
  const node = process.cpuUsage(nodeBefore)
  const result = {
    perSecond: total / seconds,
    nodeUs: (node.user + node.system) / total,
    redisUs: ((await cpuOf(redis.admin)) - redisBefore) / total,
  }
  await close?.()
  client.disconnect()
  return result
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const shown = (values, digits = 2) =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`

const redis = await startRedis()
for (const [load, settings] of Object.entries(loads)) {
  const results = new Map(Object.keys(contenders).map((name) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, make] of Object.entries(contenders))
      results.get(name).push(await measure(redis, make, settings))
  }
  const plain = results.get('plain script')
  const peer = results.get('rate-limit-redis')
  console.log(
    `\n### ${load}\n\n| | checks/s ÷ plain script | ÷ rate-limit-redis | Node µs | Redis µs | Redis µs ÷ plain |\n|---|---|---|---|---|---|`,
  )
  for (const [name, own] of results) {
    const ratios = own.map(({ perSecond }, i) => perSecond / plain[i].perSecond)
    const peerRatios = own.map(({ perSecond }, i) => perSecond / peer[i].perSecond)
    const redisRatios = own.map(({ redisUs }, i) => redisUs / plain[i].redisUs)
    const node = median(own.map(({ nodeUs }) => nodeUs)).toFixed(1)
    const cpu = median(own.map(({ redisUs }) => redisUs)).toFixed(1)
    console.log(
      `| ${name} | ${shown(ratios)} | ${shown(peerRatios)} | ${node} | ${cpu} | ${shown(redisRatios)} |`,
    )
  }
}
await redis.stop()
