import type { Op, Reply } from '../store.js'
import type { KeyOptions } from './key.js'
import { packAdjust } from './pack-adjust.js'
import { packAdvances } from './pack-advance.js'
import { packBuckets } from './pack-buckets.js'
import { packChecks } from './pack-checks.js'
import { packBlock, packLeases, packResets } from './pack-leases.js'
import { createRows } from './row.js'

export type ScriptName = 'consume' | 'buckets' | 'reset' | 'adjust' | 'lease' | 'block' | 'advance'

/** A script call: its keys and arguments, and how to read what it answers. */
export interface Call {
  readonly script: ScriptName
  readonly keys: readonly string[]
  readonly args: readonly string[]
  /** One reply per op. @throws Error when the answer is none that the script gives */
  read(answer: unknown): readonly Reply[]
}

const scriptOf: { readonly [K in Op['kind']]: ScriptName } = {
  consume: 'consume',
  peek: 'consume',
  reset: 'reset',
  adjust: 'adjust',
  release: 'lease',
  renew: 'lease',
  block: 'block',
  advance: 'advance',
}

/** Which script carries an op. Ops of one script can travel in one call, but for blocks, which are rare. */
export function scriptFor(op: Op): ScriptName {
  return scriptOf[op.kind]
}

/** Packs ops, all of one script, into one call. */
export type Pack = (ops: readonly Op[]) => Call

export function createPack(options: KeyOptions): Pack {
  const rowOf = createRows()
  return (ops) => {
    const script = ops[0] === undefined ? 'consume' : scriptFor(ops[0])
    if (script === 'consume') return packBuckets(ops, options, rowOf) ?? packChecks(ops, options, rowOf)
    if (script === 'adjust') return packAdjust(ops, options, rowOf)
    if (script === 'advance') return packAdvances(ops, options, rowOf)
    if (script === 'block') return packBlock(ops, options)
    return script === 'reset' ? packResets(ops, options) : packLeases(ops, options)
  }
}
