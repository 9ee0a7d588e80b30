import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

/**
 * What a user sees of a request.
 * - `counted`: passed, with the limits stated
 * - `unchecked`: passed, without
 * - `unavailable`: 503 with Retry-After and no limits
 * - `limited`: 429
 * - `lost`: no answer
 * - `strange`: anything else
 */
export type Kind = 'counted' | 'unchecked' | 'unavailable' | 'limited' | 'lost' | 'strange'

export interface Seen {
  readonly kind: Kind
  readonly sentMs: number
  readonly gotMs: number
  readonly what: string
}

/** Requests that go on until they are stopped, a bounded number at a time. */
export interface Load {
  /** All answers, in the order in which they came. */
  readonly seen: readonly Seen[]
  stop(): Promise<void>
}

/** A pause after each answer, so that a test leaves something of the machine to others. */
const PAUSE_MS = 10
/** Nobody waits for ever. Far beyond every deadline, so whoever takes so long is lost. */
const PATIENCE_MS = 10_000

export function startLoad(port: number, inFlight: number, path = '/'): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight })
  const seen: Seen[] = []
  let stopped = false

  async function caller(): Promise<void> {
    while (!stopped) {
      seen.push(await ask(port, path, agent))
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }

  const callers = Array.from({ length: inFlight }, caller)
  return {
    seen,
    async stop() {
      stopped = true
      await Promise.all(callers)
      agent.destroy()
    },
  }
}

function ask(port: number, path: string, agent: Agent): Promise<Seen> {
  const sentMs = performance.now()
  return new Promise((resolve) => {
    const tell = (kind: Kind, what: string) => resolve({ kind, sentMs, gotMs: performance.now(), what })
    const sent = request({ host: '127.0.0.1', port, path, agent, timeout: PATIENCE_MS }, (answer) => {
      answer.resume()
      answer.on('error', (error) => tell('lost', error.message))
      answer.on('end', () => tell(kindOf(answer.statusCode, answer.headers), describe(answer)))
    })
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${PATIENCE_MS} ms`)))
    sent.on('error', (error) => tell('lost', error.message))
    sent.end()
  })
}

function kindOf(status: number | undefined, headers: IncomingHttpHeaders): Kind {
  const states = headers.ratelimit !== undefined
  if (states !== (headers['ratelimit-policy'] !== undefined)) return 'strange'
  const waits = Number(headers['retry-after']) >= 1
  if (status === 200 && !('retry-after' in headers)) return states ? 'counted' : 'unchecked'
  if (status === 503 && waits && !states) return 'unavailable'
  return status === 429 && waits && states ? 'limited' : 'strange'
}

function describe({ statusCode, headers }: IncomingMessage): string {
  return `${statusCode} ${JSON.stringify(headers)}`
}

export function countOf(seen: readonly Seen[]): Readonly<Record<Kind, number>> {
  const counts = { counted: 0, unchecked: 0, unavailable: 0, limited: 0, lost: 0, strange: 0 }
  for (const { kind } of seen) counts[kind] += 1
  return counts
}
