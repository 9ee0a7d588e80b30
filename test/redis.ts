import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Redis as Redis6 } from 'ioredis6'

/** A redis-server of a test's own, on a free port of this machine, with nothing on disk. */
export interface TestRedis {
  readonly port: number
  /** A plain client for the test to look into the server; closed by `stop`. */
  client(version?: 5 | 6): Redis
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void
  /** Starts the server again, empty, on the same port. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface TestRedisOptions {
  /** @default a free one */
  readonly port?: number
  /** More arguments of redis-server. */
  readonly config?: readonly string[]
}

export async function startRedis({ port: wanted, config = [] }: TestRedisOptions = {}): Promise<TestRedis> {
  const port = wanted ?? (await freePort())
  const clients: Redis[] = []
  let server = await launch(port, config)
  return {
    port,
    client(version = 5) {
      const Client = version === 5 ? Redis : (Redis6 as unknown as typeof Redis)
      const client = new Client({ port, host: '127.0.0.1', retryStrategy: () => 50 })
      client.on('error', () => {})
      clients.push(client)
      return client
    },
    signal: (name) => {
      server.kill(name)
    },
    async restart() {
      await ended(server)
      server = await launch(port, config)
    },
    async stop() {
      for (const client of clients) client.disconnect()
      server.kill('SIGCONT')
      server.kill('SIGKILL')
      await ended(server)
    },
  }
}

async function launch(port: number, config: readonly string[]): Promise<ChildProcess> {
  // A server that becomes a replica is sent a file. It is written nowhere near the sources, and not kept: any server
  // that starts where it lies would begin with what is in it.
  const file = `ratepact-${randomUUID()}.rdb`
  const quiet = ['--save', '', '--appendonly', 'no', '--loglevel', 'warning', '--dir', tmpdir()]
  const gone = ['--dbfilename', file, '--rdb-del-sync-files', 'yes']
  const server = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', ...quiet, ...gone, ...config],
    {
      stdio: 'ignore',
    },
  )
  server.once('exit', () => rmSync(join(tmpdir(), file), { force: true }))
  const failed = once(server, 'error').then(([error]) => {
    throw new Error(`redis-server could not be started; \`npm test\` installs it. ${error}`)
  })
  try {
    await Promise.race([failed, answers(port)])
  } catch (error) {
    server.kill('SIGKILL')
    throw error
  }
  return server
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
}

/** Waits until the server answers a PING. */
async function answers(port: number): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    if (await pings(port)) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`redis-server on port ${port} does not answer`)
}

function pings(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.once('data', (data) => {
      socket.destroy()
      resolve(data.toString().startsWith('+PONG'))
    })
    socket.once('error', () => resolve(false))
  })
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
