import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export type Fate = 'pass' | 'hold' | 'cut' | 'halve' | 'garble'

/** A TCP proxy between a client and a server on this machine, through which a test does harm. */
export interface TestProxy {
  readonly port: number
  /**
   * What happens to bytes from the server: they pass, are held back, cut the connection instead of passing, pass up to
   * their middle and then cut it, or become bytes that are no answer.
   */
  replies(fate: Fate): void
  /** Settles when the client has next written something that has been passed on. */
  written(): Promise<void>
  /** Cuts every connection. */
  cut(): void
  /** Lets nothing more through on the connections that there are; later ones work. */
  mute(): void
  /** Connections from now on lead to another port; those that there are stay. */
  target(port: number): void
  /** Holds everything from the server for so long. */
  delay(ms: number): void
  stop(): Promise<void>
}

export async function startProxy(target: number): Promise<TestProxy> {
  let fate: Fate = 'pass'
  let port = target
  let delayMs = 0
  const muted = new WeakSet<Socket>()
  const sockets = new Set<Socket>()
  let waiting: (() => void)[] = []
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (muted.has(client)) return
      upstream.write(bytes)
      for (const tell of waiting.splice(0)) tell()
    })
    /** What was delayed is not overtaken by what comes when nothing is delayed any more. */
    let dueMs = 0
    upstream.on('data', (bytes) => {
      if (muted.has(upstream)) return
      if (fate === 'pass') {
        const now = performance.now()
        dueMs = Math.max(dueMs, now + delayMs)
        if (dueMs > now) setTimeout(() => client.write(bytes), dueMs - now)
        else client.write(bytes)
      }
      if (fate === 'garble') client.write('\0?!\r\n')
      if (fate === 'halve') client.end(bytes.subarray(0, bytes.length >> 1))
      if (fate === 'cut') client.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    replies: (next) => {
      fate = next
    },
    written: () =>
      new Promise((resolve) => {
        waiting = [...waiting, resolve]
      }),
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    mute: () => {
      for (const socket of sockets) muted.add(socket)
    },
    target: (next) => {
      port = next
    },
    delay: (ms) => {
      delayMs = ms
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
