import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** A server that speaks as Redis does and answers scripts with whatever a test wants: most often an error. */
export interface FakeRedis {
  readonly port: number
  /** Scripts that came, by EVALSHA or EVAL. */
  readonly scripts: number
  /**
   * What scripts are answered from now on: a line as Redis writes it (`-LOADING …`), nothing at all, or another end
   * of the connection.
   */
  answer(line: string | 'nothing' | 'cut'): void
  /** What connections are greeted with from now on: served, or each command answered with an error such as NOAUTH. */
  greet(line: string | undefined): void
  stop(): Promise<void>
}

export async function startFakeRedis(first: string | 'nothing' | 'cut' = 'nothing'): Promise<FakeRedis> {
  const sockets = new Set<Socket>()
  let line = first
  let greeting: string | undefined
  let scripts = 0

  function reply(socket: Socket, command: readonly string[]): void {
    const name = command[0]?.toUpperCase()
    if (greeting !== undefined) socket.write(`${greeting}\r\n`)
    else if (name === 'EVALSHA' || name === 'EVAL') {
      scripts += 1
      if (line === 'cut') socket.destroy()
      else if (line !== 'nothing') socket.write(`${line}\r\n`)
    } else if (name === 'INFO') socket.write(bulk('redis_version:7.0.15\r\nloading:0\r\nrole:master\r\n'))
    else if (name === 'HELLO') socket.write('%1\r\n$5\r\nproto\r\n:3\r\n')
    else socket.write('+OK\r\n')
  }

  const server = createServer((socket) => {
    sockets.add(socket)
    let bytes = ''
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.setEncoding('latin1')
    socket.on('data', (more: string) => {
      bytes += more
      for (let found = commandIn(bytes); found !== undefined; found = commandIn(bytes)) {
        bytes = bytes.slice(found.length)
        reply(socket, found.words)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    port: address.port,
    get scripts() {
      return scripts
    },
    answer(next) {
      line = next
    },
    greet(next) {
      greeting = next
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`
}

/** The first whole command in what has been received: an array of bulk strings. */
function commandIn(bytes: string): { words: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(bytes)
  if (head === null) return undefined
  const words: string[] = []
  let at = head[0].length
  for (let word = 0; word < Number(head[1]); word += 1) {
    const size = /^\$(\d+)\r\n/.exec(bytes.slice(at, at + 20))
    if (size === null) return undefined
    const from = at + size[0].length
    const to = from + Number(size[1])
    if (bytes.length < to + 2) return undefined
    words.push(bytes.slice(from, to))
    at = to + 2
  }
  return { words, length: at }
}
