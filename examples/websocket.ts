// Messages of a socket, each counted for whom it belongs to, whatever the number of sockets. What is too much is told and
// dropped; who goes on all the same is hung up on. One message is looked at after the other, so that none waits unseen; one
// that cannot be handled is told to `failed`, and those after it are looked at as ever.
import type { Limiter } from '@ratepact/server'

/** As much of a WebSocket as is needed: that of `ws`, of Deno, of Bun. */
export interface Socket {
  send(text: string): void
  close(code: number, reason: string): void
}

/** Called with each message of a socket; never rejects. */
export type OnMessage = (text: string) => Promise<void>

const PATIENCE = 20

export function limitMessages(
  limiter: Limiter<string, 'client'>,
  client: string,
  socket: Socket,
  handle: (text: string) => unknown,
  failed: (error: unknown) => void = console.error,
): OnMessage {
  let turn = Promise.resolve()
  let waiting = 0
  let refused = 0

  async function take(text: string): Promise<void> {
    const decision = await limiter.consume(client)
    if (decision.allowed) {
      refused = 0
      await handle(text)
      return
    }
    refused += 1
    const after = 'retryAfterSeconds' in decision ? decision.retryAfterSeconds : undefined
    if (refused > PATIENCE) socket.close(1008, 'too many messages')
    else socket.send(JSON.stringify({ error: decision.outcome, retryAfterSeconds: after }))
  }

  return (text) => {
    // A flood is not kept: 1008 is a breach of policy.
    if (waiting >= PATIENCE) {
      socket.close(1008, 'too many messages')
      return turn
    }
    waiting += 1
    turn = turn
      .then(() => take(text))
      .catch(failed)
      .finally(() => {
        waiting -= 1
      })
    return turn
  }
}
