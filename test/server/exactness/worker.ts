// One of several processes that make calls at once: reads rows, one line each, and answers each with what came of it.
import { createInterface } from 'node:readline'
import { createLimiter, type Decision, type Limiter } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Cluster, Redis } from 'ioredis'
import { CALLS_EACH, type Count, type Row, shapes } from './rows.js'

const [redisPort, clusterPort] = process.argv.slice(2).map(Number)
const host = '127.0.0.1'
const client = new Redis({ port: redisPort ?? 0, host })
const cluster = new Cluster([{ port: clusterPort ?? 0, host }], { lazyConnect: true })
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** All calls at once, but each in a turn of the event loop of its own where they are to travel alone. */
async function callsOf({ way, who, shape }: Row, limiter: Limiter): Promise<readonly Decision[]> {
  const partition = shape === 'policies of two partitions' ? { client: who, account: who } : who
  const cost = shape === 'concurrency' ? { cost: { p: 1 } } : {}
  const calls: Promise<Decision>[] = []
  for (let i = 0; i < CALLS_EACH; i += 1) {
    // The same ids in every process: each counts once, whoever is the first.
    calls.push(limiter.consume(partition, way === 'id' ? { ...cost, id: `call-${i}` } : cost))
    if (way === 'single') await turn()
    // There is nothing to take ahead before it is known that somebody calls often.
    if (way === 'leases' && i % 5 === 4) await Promise.all(calls)
    // A refusal can be repeated only once it has been heard of.
    if (way === 'deny cache' && i % 50 === 49) await Promise.all(calls)
  }
  return Promise.all(calls)
}

function countOf(decisions: readonly Decision[]): Count {
  const replayed = decisions.filter((one) => one.outcome === 'admitted' && one.replayed)
  const charged = decisions.filter((one) => one.outcome === 'admitted' && !one.replayed)
  return {
    charged: charged.length,
    replayed: replayed.length,
    leased: decisions.filter(({ source }) => source === 'lease').length,
    denied: decisions.filter(({ source }) => source === 'deny-cache').length,
    strange: decisions.flatMap(({ outcome }) =>
      outcome === 'admitted' || outcome === 'refused' ? [] : [outcome],
    ),
  }
}

async function play(row: Row, started: Promise<unknown>): Promise<Count> {
  const limiter = createLimiter({
    policies: shapes[row.shape]?.(row.windowSeconds) ?? [],
    store: redisStore(row.way === 'cluster' ? cluster : client, { timeoutMs: 60_000 }),
    onStoreFailure: 'closed',
    denyCache: row.way === 'deny cache',
    denyCacheMaxSeconds: 60,
    ...(row.way === 'leases' && { leases: { seconds: 60 } }),
  }) as Limiter
  // The connection stands before anybody is off.
  await limiter.peek({
    client: 'nobody',
    ...(row.shape === 'policies of two partitions' && { account: 'x' }),
  })
  say('ready')
  await started
  const decisions = await callsOf(row, limiter)
  await limiter.close()
  return countOf(decisions)
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
for (let line = await lines.next(); line.done !== true; line = await lines.next())
  say(await play(JSON.parse(line.value) as Row, lines.next()))
client.disconnect()
cluster.disconnect()
