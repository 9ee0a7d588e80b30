import { setTimeout as pause } from 'node:timers/promises'
import { createLimiter, fixedWindow, type LimiterEvent } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type ClusterNode, startCluster, type TestCluster } from '../../cluster/cluster.js'
import { until } from '../../wait.js'
import type { Fault } from './faults.js'
import { type ModeName, modes, type Watched, watch, watchAll } from './ground.js'
import { suffer } from './suffer.js'

interface Shaken {
  readonly cluster: TestCluster
  readonly slots: readonly number[]
  readonly owner: ClusterNode
}

let cluster: TestCluster
/** By mode, all on one node. */
let partitions: Map<ModeName, string>
let slots: readonly number[]
let owner: ClusterNode
/** One on another node. */
let bystander: string
beforeAll(async () => {
  // Nodes that are there serve what is theirs, also while somebody else's slots have no master.
  cluster = await startCluster({ config: ['--cluster-require-full-coverage', 'no'] })
  owner = await ownerOf('open')
  partitions = new Map()
  for (const mode of Object.keys(modes) as ModeName[]) partitions.set(mode, await named(mode, true))
  slots = await Promise.all([...partitions.values()].map(slotOf))
  bystander = await named('bystander', false)
}, 60_000)
afterAll(() => cluster.stop())

const slotOf = (partition: string) => cluster.slotOf(`rl1:{client:${partition}}`)
const ownerOf = async (partition: string) => cluster.ownerOf(await slotOf(partition))

/** A partition that has, or has not, its bucket on the node that is to suffer. */
async function named(word: string, there: boolean): Promise<string> {
  for (let i = 0; ; i += 1) {
    const name = `${word}-${i}`
    if (((await ownerOf(name)).port === owner.port) === there) return name
  }
}

function client(): Cluster {
  const one = new Cluster([...cluster.addresses], { lazyConnect: true })
  one.on('error', () => {})
  return one
}

/** Gives a slot to another node, key by key, as resharding does. */
async function moveSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
  await to.redis.cluster('SETSLOT', slot, 'IMPORTING', from.id)
  await from.redis.cluster('SETSLOT', slot, 'MIGRATING', to.id)
  await pause(100)
  for (;;) {
    const keys = (await from.redis.cluster('GETKEYSINSLOT', slot, 10)) as string[]
    if (keys.length === 0) break
    await from.redis.migrate('127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...keys)
  }
  await pause(100)
  for (const node of [to, from]) await node.redis.cluster('SETSLOT', slot, 'NODE', to.id)
}

const moving: Fault<Shaken> = {
  name: 'Cluster: slots moved to another node',
  is: 'none',
  async strike({ slots, owner }) {
    const other = cluster.masters.find(({ port }) => port !== owner.port) ?? owner
    for (const slot of slots) await moveSlot(slot, owner, other)
    for (const slot of slots) await moveSlot(slot, other, owner)
  },
  mend: () => {},
}

const losing: Fault<Shaken> = {
  name: 'Cluster: a master killed, its replica takes over',
  is: 'outage',
  reasons: ['disconnected', 'timeout', 'unready'],
  forgets: true,
  healsItself: true,
  strike: ({ owner }) => owner.server.signal('SIGKILL'),
  mend: ({ owner, slots: [slot = 0] }) =>
    until('a replica has taken over', async () => (await cluster.ownerOf(slot)).port !== owner.port, 30_000),
}

it.each([moving, losing])('$name', { timeout: 90_000 }, async (fault) => {
  await cluster.flush()
  const watched = await watchAll(client, fault, (mode) => partitions.get(mode) ?? mode)
  const other: Watched = await watch(client(), 'closed', 5000, bystander)
  try {
    await suffer(fault, { cluster, slots, owner }, watched)
    await other.countedByStore()
  } finally {
    await other.stop()
  }
  // Whoever is counted on another node notices nothing.
  expect(other.service.events).toEqual([])
  expect(other.load.seen.filter(({ kind }) => kind !== 'counted')).toEqual([])
})

it('slots that nobody serves any more take no others with them', { timeout: 60_000 }, async () => {
  const events: LimiterEvent[] = []
  const limiter = createLimiter({
    store: redisStore(client(), { timeoutMs: 500 }),
    policies: [fixedWindow({ name: 'hour', quota: 1e6, windowSeconds: 3600 })],
    onEvent: (event) => events.push(event),
  })
  onTestFinished(() => limiter.close())
  await until('it is connected', async () => (await limiter.consume(bystander)).source === 'store')
  const lost = cluster.masters.indexOf(owner)
  for (const node of [cluster.masters[lost], cluster.replicas[lost]]) node?.server.signal('SIGKILL')
  events.length = 0
  const sources: string[] = []
  for (let i = 0; i < 50; i += 1) {
    for (const mode of Object.keys(modes) as ModeName[]) {
      const { source } = await limiter.consume(partitions.get(mode) ?? '')
      if (i >= 5) expect(source).toBe('none')
    }
    sources.push((await limiter.consume(bystander)).source)
  }
  expect([...new Set(sources)]).toEqual(['store'])
  const opened = events.flatMap((event) => (event.type === 'breaker' ? [event] : []))
  expect(new Set(opened.map(({ place }) => place)).size).toBe(1)
  expect(opened.map(({ state }) => state)).toEqual(['open'])
  expect(events.map(({ type }) => type)).not.toContain('recovered')
})
