import { expected } from './check.js'

/** The three problem types of draft-11 section 5, by the last part of their URI. */
export type ProblemType = 'quota-exceeded' | 'temporary-reduced-capacity' | 'abnormal-usage-detected'

/** The body of a refusal: a problem details object (RFC 9457). */
export interface ProblemDetails {
  type: string
  title: string
  /** The HTTP status the answer must have. */
  status: number
  detail?: string
  'violated-policies'?: readonly string[]
}

/** What a refusal's body says, once checked. */
export interface Problem {
  type: ProblemType
  violatedPolicies?: readonly string[]
}

/** What each type is on the wire: its exact URI, its registered title, and the status it goes with. */
export const problemTypes: {
  readonly [Type in ProblemType]: { readonly uri: string; readonly title: string; readonly status: 429 | 503 }
} = {
  'quota-exceeded': {
    uri: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Quota Exceeded',
    status: 429,
  },
  'temporary-reduced-capacity': {
    uri: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
    title: 'Temporary Reduced Capacity',
    status: 503,
  },
  'abnormal-usage-detected': {
    uri: 'https://iana.org/assignments/http-problem-types#abnormal-usage-detected',
    title: 'Abnormal Usage Detected',
    status: 429,
  },
}

/** The media type of a problem details body (RFC 9457 section 3). */
export const problemMediaType = 'application/problem+json'

/** What a refusal has to tell. */
export interface ProblemAbout {
  /** Names of the policies that refused. */
  violatedPolicies?: readonly string[]
  /** A sentence for a person about this occurrence, "Retry in 12 seconds.". */
  detail?: string
}

/**
 * The body of a refusal (draft-11 section 5). Send it as `application/problem+json` with the status
 * that it names.
 *
 * @throws TypeError for an unknown type, or a member of the wrong type.
 */
export function problem(type: ProblemType, about: ProblemAbout = {}): ProblemDetails {
  if (!isProblemType(type)) throw new TypeError(expected('type', `one of ${known.join(', ')}`, type))
  const { uri, title, status } = problemTypes[type]
  const details: ProblemDetails = { type: uri, title, status }
  if (about.detail !== undefined) {
    if (typeof about.detail !== 'string') throw new TypeError(expected('detail', 'a string', about.detail))
    details.detail = about.detail
  }
  if (about.violatedPolicies !== undefined) {
    if (!isStrings(about.violatedPolicies)) {
      throw new TypeError(expected('violatedPolicies', 'an array of strings', about.violatedPolicies))
    }
    details['violated-policies'] = [...about.violatedPolicies]
  }
  return details
}

/** The longest body that is read, in characters. */
const longestBody = 16_384

/**
 * Reads the body of a refusal. Which policies refused is all that a client may take from it: when to
 * come back is said by the fields. Members of a wrong type count as absent (RFC 9457 section 3.1).
 * Never throws.
 *
 * @returns undefined for any other media type, a body that is too long or not JSON, or an unknown type.
 */
export function readProblem(contentType: string | null | undefined, text: string): Problem | undefined {
  if (!isProblemMediaType(contentType) || typeof text !== 'string' || text.length > longestBody)
    return undefined
  const body = parseObject(text)
  const type = known.find((name) => sameUri(body?.type, problemTypes[name].uri))
  if (body === undefined || type === undefined) return undefined
  const names = body['violated-policies']
  return isStrings(names) ? { type, violatedPolicies: names } : { type }
}

const known = Object.keys(problemTypes) as ProblemType[]

function isProblemType(type: unknown): type is ProblemType {
  return known.some((name) => name === type)
}

function isStrings(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

function isProblemMediaType(contentType: unknown): boolean {
  if (typeof contentType !== 'string') return false
  return contentType.split(';', 1)[0]?.trim().toLowerCase() === problemMediaType
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Also takes the spellings with `http:` and with `www.` for the same type. */
function sameUri(value: unknown, uri: string): boolean {
  return typeof value === 'string' && value.replace(/^https?:\/\/(?:www\.)?/, 'https://') === uri
}
