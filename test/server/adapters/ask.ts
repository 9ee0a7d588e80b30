import { Agent, request } from 'node:http'
import { connect } from 'node:http2'
import { onTestFinished } from 'vitest'

export interface Answer {
  readonly status: number
  /** By name in lower case; several lines joined. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

export interface Asking {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
}

/** One request; its path is sent as it is. Rejects when the connection ends before the answer does. */
export type Ask = (path: string, asking?: Asking) => Promise<Answer>

/** Asks over HTTP/1.1, one request after the other on a connection that is kept; at once, on as many as it takes. */
export function askHttp1(port: number): Ask {
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  return (path, { method = 'GET', headers = {}, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path, method, headers, agent, ...(signal && { signal }) }
      const sent = request(options, (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => {
          text += chunk
        })
        answer.on('error', reject)
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, headers: joined(answer.headers), body: text }),
        )
      })
      sent.on('error', reject)
      sent.end(body)
    })
}

/** Asks over HTTP/2, all on one connection. */
export function askHttp2(port: number): Ask {
  const session = connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  return (path, { method = 'GET', headers = {}, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      const sent = session.request(
        { ':path': path, ':method': method, ...headers },
        { endStream: body === undefined },
      )
      signal?.addEventListener('abort', () => sent.close(8))
      let head: Readonly<Record<string, unknown>> = {}
      let text = ''
      let ended = false
      sent.setEncoding('utf8')
      sent.on('response', (given) => {
        head = given
      })
      sent.on('data', (chunk: string) => {
        text += chunk
      })
      sent.on('end', () => {
        ended = true
      })
      sent.on('error', reject)
      sent.on('close', () => {
        const { ':status': status, ...fields } = head
        if (!ended || status === undefined || sent.rstCode !== 0) return reject(new Error('cut off'))
        resolve({ status: Number(status), headers: joined(fields), body: text })
      })
      if (body !== undefined) sent.end(body)
    })
}

function joined(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : String(value),
    ]),
  )
}
