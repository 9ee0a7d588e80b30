import { createServer, type IncomingHttpHeaders, type RequestListener, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { memoryStore, type Store } from '@ratepact/server'
import express5 from 'express'
import express4 from 'express4'
import { onTestFinished } from 'vitest'

/** Both majors under the types of the newer; what the types themselves allow is tested with each one's own. */
export const majors: readonly (readonly [name: string, express: typeof express5])[] = [
  ['Express 4', express4 as unknown as typeof express5],
  ['Express 5', express5],
]

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Names and values as they came, the framework's and Node's own left out. */
  readonly raw: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

export interface Asking {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Served {
  readonly port: number
  readonly server: Server
  /** One request on a connection of its own, its path sent as it is. */
  ask(path: string, asking?: Asking): Promise<Answer>
}

const NOT_OURS = new Set(['x-powered-by', 'date', 'connection', 'keep-alive', 'etag', 'transfer-encoding'])

/** A real server for the length of a test. */
export async function serve(app: RequestListener): Promise<Served> {
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, server, ask: (path, asking) => ask(port, path, asking) }
}

function ask(port: number, path: string, { method = 'GET', headers = {} }: Asking = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (answer) => {
      let body = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => {
        body += chunk
      })
      answer.on('error', reject)
      answer.on('end', () => {
        const lines = answer.rawHeaders
        const raw = Array.from(
          { length: lines.length / 2 },
          (_, i) => [lines[2 * i] as string, lines[2 * i + 1] as string] as const,
        ).filter(([name]) => !NOT_OURS.has(name.toLowerCase()))
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, raw, body })
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}

/** A memory store whose time is moved by hand. */
export function handStore(): { readonly store: Store; pass(seconds: number): void } {
  let nowMs = 1_000_000
  return {
    store: memoryStore({ clock: { now: () => nowMs } }),
    pass: (seconds) => {
      nowMs += seconds * 1000
    },
  }
}

/** A store whose answers are held back until they are let go. */
export function heldStore(): { readonly store: Store; readonly asked: () => number; release(): void } {
  const inner = memoryStore()
  const waiting: (() => void)[] = []
  let asked = 0
  return {
    store: {
      name: 'held',
      timeoutMs: 60_000,
      run: (ops, deadlineMs) => {
        asked += 1
        return new Promise((resolve) => waiting.push(() => resolve(inner.run(ops, deadlineMs))))
      },
      close: () => inner.close(),
    },
    asked: () => asked,
    release: () => {
      for (const go of waiting.splice(0)) go()
    },
  }
}
