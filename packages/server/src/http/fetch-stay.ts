import { watchBody } from './body-end.js'
import type { Stay } from './hold.js'

/** For how long a Request stays: until its answer has been read or given up, or its client has gone. */
export interface FetchStay extends Stay {
  /** Ends the stay with the answer, where there is anybody who has to know of its end. */
  until(answer: () => Promise<Response | undefined>): Promise<Response | undefined>
}

/** Whether a handler has answered, and with what can be looked into: each platform and polyfill has its own Response. */
export function isResponse(given: unknown): given is Response {
  const { status, headers } = (given ?? {}) as Partial<Response>
  return typeof status === 'number' && typeof headers?.get === 'function'
}

export function createFetchStay({ signal, method }: Request): FetchStay {
  const listeners = new Set<() => void>()
  let moved = (): boolean => true
  let bytes = (): number => 0
  let status: number | undefined
  let complete = false

  function end(): void {
    signal.removeEventListener('abort', end)
    for (const listener of listeners) listener()
    listeners.clear()
  }

  return {
    onEnd(listener) {
      if (signal.aborted) return listener()
      if (listeners.size === 0) signal.addEventListener('abort', end)
      listeners.add(listener)
    },
    // No platform promises to read a body, to cancel one or to abort a request: one that is not read is given up.
    giveUp: end,
    moved: () => moved(),
    answer: () => ({ ...(status !== undefined && { status }), bytes: bytes(), complete }),
    async until(answer) {
      if (listeners.size === 0) return answer()
      try {
        const given = await answer()
        if (isResponse(given)) status = given.status
        // Whatever body the one has is for nobody; and who has taken over the connection tells of no end.
        if (method === 'HEAD' || !isResponse(given) || given.status < 200) {
          complete = true
          end()
          return given
        }
        const { response, ...body } = watchBody(given, (wholly) => {
          complete = wholly
          end()
        })
        moved = body.moved
        bytes = body.bytes
        return response
      } catch (error) {
        // What platforms answer with then.
        status = 500
        end()
        throw error
      }
    },
  }
}
