/** What a refusal can be told in. */
export type Form = 'json' | 'text' | 'html'

/** The best first. */
const FORMS: readonly (readonly [form: Form, types: readonly string[]])[] = [
  ['json', ['application/problem+json', 'application/json']],
  ['text', ['text/plain']],
  ['html', ['text/html', 'application/xhtml+xml']],
]
/** Longer than any browser's; more is not looked at. */
const LONGEST = 1000

/**
 * The form that an `Accept` field asks for most (RFC 9110 section 12.5.1). Of equals it is problem details, and so it is
 * where nothing is asked for, or nothing that there is.
 */
export function formFor(accept: string | string[] | null | undefined): Form {
  if (typeof accept !== 'string' || accept.length > LONGEST) return 'json'
  const ranges = new Map(accept.split(',').map(rangeIn))
  let best: Form = 'json'
  let most = 0
  for (const [form, types] of FORMS) {
    const quality = Math.max(...types.map((type) => qualityOf(type, ranges)))
    if (quality <= most) continue
    best = form
    most = quality
  }
  return best
}

function rangeIn(member: string): readonly [range: string, quality: number] {
  const [range = '', ...parameters] = member.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = weight === undefined ? 1 : Number(weight.slice(2))
  return [range, quality >= 0 && quality <= 1 ? quality : 0]
}

/** The most specific range decides. */
function qualityOf(type: string, ranges: ReadonlyMap<string, number>): number {
  return ranges.get(type) ?? ranges.get(`${type.split('/')[0]}/*`) ?? ranges.get('*/*') ?? 0
}
