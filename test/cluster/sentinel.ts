import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort, startRedis, type TestRedis } from '../redis.js'
import { until } from '../wait.js'

/** A master, a replica and three Sentinels of a test's own, on free ports of this machine. */
export interface TestSentinels {
  readonly name: string
  readonly addresses: readonly { readonly host: string; readonly port: number }[]
  readonly master: TestRedis
  readonly replica: TestRedis
  /** Kills the Sentinels. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const NAME = 'mymaster'

export async function startSentinels(): Promise<TestSentinels> {
  const master = await startRedis()
  const replica = await startRedis({ config: ['--replicaof', '127.0.0.1', String(master.port)] })
  const folder = await mkdtemp(join(tmpdir(), 'sentinel-'))
  const sentinels: { port: number; process: ChildProcess }[] = []
  async function kill(): Promise<void> {
    for (const { process } of sentinels) {
      if (process.exitCode !== null || process.signalCode !== null) continue
      process.kill('SIGKILL')
      await once(process, 'exit')
    }
  }
  async function stop(): Promise<void> {
    await kill()
    await Promise.all([master.stop(), replica.stop()])
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await until('the replica follows', async () =>
      (await replica.client().info('replication')).includes('master_link_status:up'),
    )
    for (let i = 0; i < 3; i += 1) {
      const port = await freePort()
      sentinels.push({ port, process: await launch(port, join(folder, `${i}.conf`), master.port) })
    }
    for (const { port } of sentinels) await until('the Sentinels know each other', () => knowsAll(port))
  } catch (error) {
    await stop()
    throw error
  }
  const addresses = sentinels.map(({ port }) => ({ host: '127.0.0.1', port }))
  return { name: NAME, addresses, master, replica, kill, stop }
}

async function launch(port: number, file: string, master: number): Promise<ChildProcess> {
  const lines = [
    ...[`port ${port}`, 'bind 127.0.0.1', `sentinel monitor ${NAME} 127.0.0.1 ${master} 2`],
    ...[`sentinel down-after-milliseconds ${NAME} 700`, `sentinel failover-timeout ${NAME} 3000`],
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  return spawn('redis-server', [file, '--sentinel', '--loglevel', 'warning'], { stdio: 'ignore' })
}

async function knowsAll(port: number): Promise<boolean> {
  const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    await client.connect()
    const [others, replicas] = await Promise.all([
      client.call('SENTINEL', 'SENTINELS', NAME) as Promise<unknown[]>,
      client.call('SENTINEL', 'REPLICAS', NAME) as Promise<unknown[]>,
    ])
    return others.length === 2 && replicas.length === 1
  } catch {
    return false
  } finally {
    client.disconnect()
  }
}
