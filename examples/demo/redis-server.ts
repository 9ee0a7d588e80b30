import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A redis-server of the demo's own, with nothing on disk. */
export interface PrivateRedis {
  readonly url: string
  stop(): Promise<void>
}

/** Starts one on a free port of this machine; undefined when there is none on the PATH. */
export async function startRedisServer(): Promise<PrivateRedis | undefined> {
  const port = await freePort()
  const options = ['--save', '', '--appendonly', 'no', '--bind', '127.0.0.1', '--port', String(port)]
  const server = spawn('redis-server', options, { stdio: 'ignore' })
  const ended = once(server, 'exit')
  const started = await once(server, 'spawn').then(
    () => true,
    () => false,
  )
  ended.catch(() => {})
  if (!started) return undefined
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      if (server.exitCode === null && server.signalCode === null) server.kill('SIGKILL')
      await ended
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
