import { parseRateLimit } from '@ratepact/contract'
import type { AnswerHead, DialectOptions, DialectReading } from '../dialect.js'
import { catalogue } from './catalogue.js'
import { checkDialects } from './check-dialect.js'
import type { Dialect, Fields, Stated } from './dialect.js'
import { fieldsOf } from './fields.js'
import { normalForm } from './normal-form.js'
import { readRow } from './row.js'
import { readShapes } from './shapes.js'
import { waitMs } from './wait.js'

/**
 * The `dialect` option for APIs that state their limits in fields of their own. Which of the dialects an answer is read by is
 * decided by the host that was called; one without hosts is tried at any; what none of them knows is told by its shape.
 * The standard's `RateLimit` field goes before all that, and `Retry-After` before every other hint.
 *
 * @param known in the order in which they are tried
 *
 * @example
 * import { createFetch } from '@ratepact/client'
 * import { catalogue, dialects } from '@ratepact/client/dialects'
 *
 * createFetch({ dialect: dialects() })
 * createFetch({ dialect: dialects([{ name: 'acme', hosts: ['api.acme.test'], limits: [{ name: 'calls', left: 'Acme-Left' }] }, ...catalogue]) })
 *
 * @throws TypeError or RangeError, naming the member, the rule and what was given, for a dialect that makes no sense.
 */
export function dialects(known: readonly Dialect[] = catalogue): DialectOptions {
  const all = checkDialects(known)
  return { read: (answer) => readAnswer(all, answer) }
}

function readAnswer(known: readonly Dialect[], answer: AnswerHead): DialectReading | undefined {
  const fields = fieldsOf(answer)
  const standard = parseRateLimit(fields.get('ratelimit')).status === 'ok'
  let refusals: readonly number[] = []
  for (const dialect of known) {
    if (!isSpokenAt(dialect, answer.host) || (standard && dialect.beforeStandard !== true)) continue
    const found = readDialect(dialect, fields)
    if (found.length > 0) return readingOf(found, answer, fields, dialect.refusals)
    if (dialect.hosts !== undefined) refusals = [...refusals, ...(dialect.refusals ?? [])]
  }
  return standard ? undefined : readingOf(tried(() => readShapes(fields)) ?? [], answer, fields, refusals)
}

function readDialect({ limits, read }: Dialect, fields: Fields): readonly Stated[] {
  const found: Stated[] = []
  for (const row of limits) {
    const stated = tried(() => readRow(row, fields))
    if (stated !== undefined) found.push(row.perRoute ? { ...stated, perRoute: true } : stated)
  }
  if (read === undefined) return found
  const isOurs = catalogue.some((each) => each.read === read)
  return [...found, ...(isOurs ? (tried(() => read(fields)) ?? []) : read(fields))]
}

/**
 * What reads limits here must not cost anybody an answer, which the service may have done something for: where it fails, it
 * has found nothing. What a reader of the caller's own throws fails the call, as all their functions do.
 */
function tried<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Without limits where none was found, so that the answer is read as any other. */
function readingOf(
  found: readonly Stated[],
  { status, route }: AnswerHead,
  fields: Fields,
  refusals: readonly number[] = [],
): DialectReading {
  const wait = status < 400 ? undefined : tried(() => waitMs(fields))
  const isOut = found.some(({ left }) => left === 0) || wait !== undefined
  const limited = refusals.includes(status) && isOut
  if (found.length === 0) return { waitMs: wait, limited }
  const forms = found.map((stated) => normalForm(stated, stated.perRoute ? route : undefined))
  return {
    limits: forms.flatMap(({ limit }) => limit ?? []),
    policies: forms.flatMap(({ policy }) => policy ?? []),
    waitMs: wait,
    limited,
  }
}

function isSpokenAt({ hosts }: Dialect, host: string): boolean {
  const called = host.toLowerCase()
  return (
    hosts === undefined ||
    hosts.some((each) => (each.startsWith('*.') ? called.endsWith(each.slice(1)) : called === each))
  )
}
