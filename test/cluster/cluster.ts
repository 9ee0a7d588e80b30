import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { startRedis, type TestRedis, type TestRedisOptions } from '../redis.js'
import { until } from '../wait.js'

export const SLOTS = 16_384

/** A Redis Cluster of a test's own, on free ports of this machine: three masters, each with a replica. */
export interface TestCluster {
  readonly masters: readonly ClusterNode[]
  readonly replicas: readonly ClusterNode[]
  /** Where every node is to be found. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[]
  /** The master that has a slot, as the cluster itself sees it. */
  ownerOf(slot: number): Promise<ClusterNode>
  slotOf(key: string): Promise<number>
  /** All keys there are, over all masters. */
  keys(): Promise<string[]>
  flush(): Promise<void>
  stop(): Promise<void>
}

export interface ClusterNode {
  readonly id: string
  readonly port: number
  readonly server: TestRedis
  /** A client of this node alone. */
  readonly redis: Redis
}

export interface TestClusterOptions extends Pick<TestRedisOptions, 'config'> {
  /** How a node is prepared before the cluster is formed. */
  readonly prepare?: (redis: Redis) => Promise<unknown>
}

/** How long a master must be silent before its replica takes over. */
const NODE_TIMEOUT_MS = 1000

export async function startCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'cluster-'))
  const nodes: ClusterNode[] = []
  async function stop(): Promise<void> {
    await Promise.all(nodes.map(({ server }) => server.stop()))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    for (let i = 0; i < 6; i += 1) nodes.push(await startNode(folder, options))
    await form(nodes)
  } catch (error) {
    await stop()
    throw error
  }
  const [masters, replicas] = [nodes.slice(0, 3), nodes.slice(3)]

  async function ownerOf(slot: number): Promise<ClusterNode> {
    const alive = await Promise.any(nodes.map(({ redis }) => redis.cluster('SLOTS')))
    const range = alive.find(([from, to]) => from <= slot && slot <= to)
    const owner = nodes.find(({ port }) => port === range?.[2]?.[1])
    if (owner === undefined) throw new Error(`Nobody has slot ${slot}`)
    return owner
  }

  return {
    masters,
    replicas,
    addresses: nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    ownerOf,
    slotOf: async (key) => Number(await nodes[0]?.redis.cluster('KEYSLOT', key)),
    keys: async () => (await Promise.all(masters.map(({ redis }) => redis.keys('*')))).flat().sort(),
    flush: async () => void (await Promise.all(masters.map(({ redis }) => redis.flushall()))),
    stop,
  }
}

async function startNode(folder: string, { config = [], prepare }: TestClusterOptions): Promise<ClusterNode> {
  const port = await clusterPort()
  const server = await startRedis({
    port,
    config: [
      ...['--dir', folder, '--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`],
      ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--cluster-replica-validity-factor', '0'],
      ...['--repl-diskless-sync-delay', '0', ...config],
    ],
  })
  const redis = server.client()
  await prepare?.(redis)
  return { id: String(await redis.cluster('MYID')), port, server, redis }
}

/** Introduces the nodes to each other, deals out the slots and gives each master its replica. */
async function form(nodes: readonly ClusterNode[]): Promise<void> {
  const [first] = nodes
  for (const [i, { redis, port }] of nodes.entries()) {
    await redis.cluster('SET-CONFIG-EPOCH', i + 1)
    if (redis !== first?.redis) await first?.redis.cluster('MEET', '127.0.0.1', port)
  }
  for (const [i, { redis }] of nodes.slice(0, 3).entries()) {
    const from = Math.ceil((i * SLOTS) / 3)
    const to = Math.ceil(((i + 1) * SLOTS) / 3)
    await redis.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, slot) => from + slot))
  }
  await everywhere(nodes, 'every node knows the others', async ({ redis }) => {
    const known = String(await redis.cluster('NODES'))
    return known.trim().split('\n').length === nodes.length && !/handshake|noaddr/.test(known)
  })
  for (const [i, { redis }] of nodes.slice(3).entries()) await redis.cluster('REPLICATE', nodes[i]?.id ?? '')
  await everywhere(nodes, 'the cluster is formed', async ({ redis }) => {
    if (!String(await redis.cluster('INFO')).includes('cluster_state:ok')) return false
    const slots = (await redis.cluster('SLOTS')) as unknown[][]
    return slots.length === 3 && slots.every((range) => range.length === 4)
  })
  await everywhere(nodes.slice(3), 'the replicas follow', async ({ redis }) =>
    (await redis.info('replication')).includes('master_link_status:up'),
  )
}

async function everywhere(
  nodes: readonly ClusterNode[],
  what: string,
  check: (node: ClusterNode) => Promise<boolean>,
): Promise<void> {
  for (const node of nodes) await until(what, () => check(node), 15_000)
}

/** A free port whose neighbour by 10 000, over which nodes speak to each other, is free too. */
async function clusterPort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
