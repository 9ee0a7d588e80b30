import { parseHttpDate } from '@ratepact/contract'
import type { AnswerHead } from '../dialect.js'
import type { Fields } from './dialect.js'
import { untilMs } from './instant.js'

const longestValue = 4096
const mostNames = 200

/** The fields of an answer, as dialects ask for them; instants count from its `Date`, or from now without one. */
export function fieldsOf({ headers }: AnswerHead): Fields {
  const get = (name: string): string | undefined => {
    const value = headers.get(name)
    return value === null || value.length > longestValue ? undefined : value.trim() || undefined
  }
  const madeMs = (): number => parseHttpDate(get('date') ?? '') ?? Date.now()
  let names: readonly string[] | undefined
  return {
    get,
    get names(): readonly string[] {
      names ??= Array.from(headers.keys?.() ?? [], (name) => name.toLowerCase()).slice(0, mostNames)
      return names
    },
    untilMs: (text, smallIn = 'seconds') => (text === undefined ? undefined : untilMs(text, madeMs, smallIn)),
  }
}
