import { createHash } from 'node:crypto'
import type { RedisClient } from './client.js'

/** A Lua script that Redis is asked to run by its hash, and is sent only when it does not know it. */
export interface Script {
  /** @param wanted whether anybody still waits for the answer: then only is the text sent */
  run(
    client: RedisClient,
    keys: readonly string[],
    args: readonly string[],
    wanted: () => boolean,
  ): Promise<unknown>
}

export function createScript(source: string, extra: () => readonly string[] = () => []): Script {
  const sha = createHash('sha1').update(source).digest('hex')
  return {
    async run(client, keys, args, wanted) {
      const all = [...keys, ...args, ...extra()]
      try {
        return await client.evalsha(sha, keys.length, ...all)
      } catch (error) {
        // Only this answer proves that nothing ran: any other call may have been carried out, and is not repeated.
        if (!(error instanceof Error && error.message.startsWith('NOSCRIPT')) || !wanted()) throw error
        return await client.eval(source, keys.length, ...all)
      }
    },
  }
}
