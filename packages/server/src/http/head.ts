import { type RateLimitFields, readRateLimitFields } from '@ratepact/contract'
import type { Field } from './fields.js'

/** The head of an answer about to be sent. */
export interface Head {
  /** The field's value, several lines joined by commas. */
  get(name: string): string | undefined
  set(name: string, value: string): void
  remove(name: string): void
}

const EXPOSE = 'Access-Control-Expose-Headers'

/**
 * Whether an answer of this status may state limits. Not 3xx: a low number could stop a client from following
 * (draft-11 section 6), and a 304 would plant it in a stored answer. Not 1xx, which is no answer yet.
 */
export function statesLimits(status: number): boolean {
  return status >= 200 && (status < 300 || status >= 400)
}

/**
 * Appends members to a list that may already have some: another limiter's, or the handler's own. Members without names,
 * as drafts before 08 had them, give way: a field that mixes both is no use to anybody.
 */
export function appendField(head: Head, name: string, value: string): void {
  const before = head.get(name)?.trimStart()
  head.set(name, before?.startsWith('"') ? `${before}, ${value}` : value)
}

/**
 * Sets fields that together state one limit and cannot state two. Of two limits the one that leaves less is kept,
 * whole: fewer units, or as many for a longer time. Where named limits have the field already, they keep it.
 */
export function setNearer(head: Head, fields: readonly Field[]): void {
  if (fields.length === 0) return
  const names = new Map(fields.map(([name, value]) => [name.toLowerCase(), value]))
  if (fields.some(([name]) => head.get(name) !== undefined)) {
    const before = readOne((name) => (names.has(name) ? head.get(name) : undefined))
    if (before.dialect === 'draft-11' || before.dialect === 'draft-12') return
    if (
      !leavesLess(
        readOne((name) => names.get(name)),
        before,
      )
    )
      return
  }
  for (const [name, value] of fields) head.set(name, value)
}

function readOne(field: (name: string) => string | undefined): RateLimitFields {
  return readRateLimitFields(field, { xRateLimitReset: 'epoch-seconds' })
}

/** Whether the one leaves less than the other; anything leaves less than what cannot be read. */
function leavesLess(one: RateLimitFields, other: RateLimitFields): boolean {
  if (one.limits.status !== 'ok' || other.limits.status !== 'ok') return other.limits.status !== 'ok'
  const [mine] = one.limits.items
  const [theirs] = other.limits.items
  if (mine === undefined || theirs === undefined) return theirs === undefined
  if (mine.available !== theirs.available) return mine.available < theirs.available
  return (mine.effectiveWindowSeconds ?? -1) > (theirs.effectiveWindowSeconds ?? -1)
}

/** Lets pages of other origins read these fields; what is exposed already stays. */
export function exposeFields(head: Head, names: readonly string[]): void {
  const before = head.get(EXPOSE) ?? ''
  const known = new Set(before.split(',').map((name) => name.trim().toLowerCase()))
  const added = names.filter((name) => !known.has(name.toLowerCase()))
  if (added.length > 0) head.set(EXPOSE, (before === '' ? added : [before, ...added]).join(', '))
}
