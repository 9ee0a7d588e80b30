import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort, startRedis, type TestRedis } from '../../redis.js'
import { until } from '../../wait.js'

/** A Redis, its replica, and a Sentinel that puts the one in the place of the other. */
export interface TestSentinel {
  readonly port: number
  readonly master: TestRedis
  readonly replica: TestRedis
  /** The port of the server that is the master, as the Sentinel sees it. */
  masterPort(): Promise<number>
  stop(): Promise<void>
}

export const MASTER_NAME = 'main'
/** How long the master must be silent before its replica takes over. */
const DOWN_AFTER_MS = 1000

export async function startSentinel(): Promise<TestSentinel> {
  const folder = await mkdtemp(join(tmpdir(), 'sentinel-'))
  const master = await startRedis({ config: ['--repl-diskless-sync-delay', '0'] })
  const replica = await startRedis({ config: ['--replicaof', '127.0.0.1', String(master.port)] })
  const port = await freePort()
  const file = join(folder, 'sentinel.conf')
  await writeFile(file, configOf(port, folder, master.port))
  const process = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' })
  const sentinel = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50 })
  sentinel.on('error', () => {})
  await until('the replica follows', async () =>
    (await replica.client().info('replication')).includes('master_link_status:up'),
  )
  await until('the Sentinel knows the replica', async () => {
    const replicas = (await sentinel.call('SENTINEL', 'REPLICAS', MASTER_NAME)) as string[][]
    return replicas.length === 1 && replicas[0]?.includes('ok') === true
  })
  return {
    port,
    master,
    replica,
    async masterPort() {
      const [, at] = (await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME)) as string[]
      return Number(at)
    },
    async stop() {
      sentinel.disconnect()
      await ended(process)
      await Promise.all([master.stop(), replica.stop()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function configOf(port: number, folder: string, masterPort: number): string {
  return [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} 1`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER_NAME} 5000`,
    '',
  ].join('\n')
}

async function ended(process: ChildProcess): Promise<void> {
  process.kill('SIGKILL')
  if (process.exitCode === null && process.signalCode === null) await once(process, 'exit')
}
