import { createHash } from 'node:crypto'
import type { Link } from './link.js'

/** A Lua script that Redis is asked to run by its hash, and is sent only when it does not know it. */
export interface Script {
  /** @param whole whether to send the text and not the hash */
  run(link: Link, keys: readonly string[], args: readonly string[], whole: boolean): Promise<unknown>
}

export function createScript(source: string, extra?: () => readonly string[]): Script {
  const sha = createHash('sha1').update(source).digest('hex')
  return {
    run(link, keys, args, whole) {
      const all = extra === undefined ? args : args.concat(extra())
      return whole ? link.eval(source, keys, all) : link.evalsha(sha, keys, all)
    },
  }
}
