import type { Reply } from '../store.js'
import type { Call, ScriptName } from './pack.js'

/** A call that carries checks. A class, since there may be one for each of them: see `listOf`. */
export class CheckCall implements Call {
  readonly script: ScriptName
  readonly keys: readonly string[]
  readonly args: readonly string[]
  readonly read: Call['read']

  constructor(
    script: ScriptName,
    keys: readonly string[],
    args: readonly string[],
    read: (answer: unknown) => readonly Reply[],
  ) {
    this.script = script
    this.keys = keys
    this.args = args
    this.read = read
  }
}
