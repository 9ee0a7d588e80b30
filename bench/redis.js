import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { Redis } from 'ioredis'

/** A redis-server of the run's own. */
export async function startRedis() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()]
  let server = spawn('redis-server', args, { stdio: 'ignore' })
  const client = () => new Redis({ port, host: '127.0.0.1', retryStrategy: () => 50 })
  const admin = client()
  admin.on('error', () => {})
  await admin.ping()
  return {
    port,
    client,
    admin,
    signal: (name) => server.kill(name),
    /** Starts it again, empty, once it has been killed; settles when it answers. */
    async restart() {
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
      server = spawn('redis-server', args, { stdio: 'ignore' })
      await admin.ping()
    },
    async stop() {
      admin.disconnect()
      server.kill('SIGCONT')
      server.kill()
      await once(server, 'exit')
    },
  }
}

/** µs of CPU that Redis has used. */
export async function cpuOf(admin) {
  const info = await admin.info('cpu')
  const value = (name) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1] ?? 0)
  return (value('used_cpu_user_main_thread') + value('used_cpu_sys_main_thread')) * 1e6
}
