import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy to a server on this machine that counts what clients send. */
export interface TestCounter {
  readonly port: number
  /** How many pieces have been read since the last reset: each is what a client wrote at once. */
  packets(): number
  /** How many scripts they asked for. */
  scriptCalls(): number
  reset(): void
  stop(): Promise<void>
}

export async function startCounter(target: number): Promise<TestCounter> {
  const sockets = new Set<Socket>()
  let pieces: string[] = []
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes) => {
      pieces.push(bytes.toString('latin1'))
      upstream.write(bytes)
    })
    upstream.pipe(client)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    packets: () => pieces.length,
    scriptCalls: () => pieces.join('').split(/\r\nevalsha\r\n/i).length - 1,
    reset: () => {
      pieces = []
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
