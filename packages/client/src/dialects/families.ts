import type { Fields, Stated } from './dialect.js'
import { readRow, sensibleName } from './row.js'

const mostFamilies = 16

/** Names of fields in which one word tells limits apart: `x-ratelimit-remaining-tokens`, `anthropic-ratelimit-tokens-remaining`. */
const forms: readonly { readonly form: RegExp; readonly field: (word: string, part: string) => string }[] = [
  {
    form: /^x-ratelimit-remaining-(?<word>.+)$/,
    field: (word, part) => `x-ratelimit-${part}-${word}`,
  },
  {
    form: /^x-ratelimit-(?<word>.+)-remaining$/,
    field: (word, part) => `x-ratelimit-${word}-${part}`,
  },
  {
    form: /^anthropic-ratelimit-(?<word>.+)-remaining$/,
    field: (word, part) => `anthropic-ratelimit-${word}-${part}`,
  },
]

/** Windows by the words for them (Kong). */
const windows = /* @__PURE__ */ new Map(
  Object.entries({ second: 1, minute: 60, hour: 3600, day: 86_400, month: 2_592_000, year: 31_536_000 }),
)

/**
 * Limits that a word in the names of their fields tells apart. The word may be a window (Kong), what is counted (`tokens`), or any
 * name (Nest). Those of models (OpenAI, Anthropic), which count requests and tokens, tell when the quota is whole again.
 */
export function readFamilies(fields: Fields): readonly Stated[] {
  const found: Stated[] = []
  for (const name of fields.names) {
    for (const { form, field } of forms) {
      const word = sensibleName(form.exec(name)?.groups?.word)
      if (word === undefined || found.length >= mostFamilies) continue
      const stated = readRow(
        {
          name: word,
          ...{ quota: field(word, 'limit'), left: name, reset: field(word, 'reset') },
          window: windows.get(/[^-]+$/.exec(word)?.[0] ?? ''),
          resetWhenFull: isOfModels(word, name),
          unit: unitOf(word),
        },
        fields,
      )
      if (stated !== undefined) found.push(stated)
    }
  }
  return found
}

/** `requests` and `tokens`, input or output, at the end of the name; in the middle of it they are another API's (Linear). */
function isOfModels(word: string, name: string): boolean {
  return name.startsWith('anthropic-') || (/(^|-)(requests|tokens)$/.test(word) && name.endsWith(word))
}

function unitOf(word: string): string {
  if (/tokens$/.test(word)) return 'tokens'
  return /(^|-)complexity$/.test(word) ? 'complexity' : 'requests'
}
