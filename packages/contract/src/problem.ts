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

export interface ProblemAbout {
  /** Names of the policies that refused. */
  violatedPolicies?: readonly string[]
  /** A sentence for a person about this occurrence. */
  detail?: string
}

export function problem(type: ProblemType, about: ProblemAbout = {}): ProblemDetails {
  throw new Error(`not built yet: ${type} ${about}`)
}

export function readProblem(contentType: string | null | undefined, text: string): Problem | undefined {
  throw new Error(`not built yet: ${contentType} ${text}`)
}
