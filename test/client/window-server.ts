/** What a server knows of its window when it answers. */
export interface WindowState {
  readonly quota: number
  readonly windowSeconds: number
  readonly remaining: number
  /** Milliseconds until the window ends. */
  readonly leftMs: number
  /** The server's calendar, in milliseconds since 1970. */
  readonly dateMs: number
}

/** How a dialect states it, header by header, and what a client has to be told to read it. */
export interface Spoken {
  readonly headers: (state: WindowState) => Record<string, string>
  readonly dialect?: {
    readonly xRateLimitReset: 'epoch-seconds' | 'epoch-milliseconds' | 'delta-seconds' | 'http-date'
  }
}

const seconds = (ms: number): string => String(Math.ceil(ms / 1000))
const date = (ms: number): string => new Date(ms).toUTCString()

const x = ({ quota, remaining, dateMs }: WindowState, reset: string): Record<string, string> => ({
  Date: date(Math.floor(dateMs / 1000) * 1000),
  'X-RateLimit-Limit': String(quota),
  'X-RateLimit-Remaining': String(remaining),
  'X-RateLimit-Reset': reset,
})

export const spoken: Readonly<Record<string, Spoken>> = {
  'draft 07': {
    headers: ({ quota, windowSeconds, remaining, leftMs }) => ({
      'RateLimit-Policy': `${quota};w=${windowSeconds}`,
      RateLimit: `limit=${quota}, remaining=${remaining}, reset=${seconds(leftMs)}`,
    }),
  },
  'draft 06': {
    headers: ({ quota, windowSeconds, remaining, leftMs }) => ({
      'RateLimit-Policy': `${quota};w=${windowSeconds}`,
      'RateLimit-Limit': String(quota),
      'RateLimit-Remaining': String(remaining),
      'RateLimit-Reset': seconds(leftMs),
    }),
  },
  'draft 06 without policies': {
    headers: ({ quota, remaining, leftMs }) => ({
      'RateLimit-Limit': String(quota),
      'RateLimit-Remaining': String(remaining),
      'RateLimit-Reset': seconds(leftMs),
    }),
  },
  'draft 03': {
    headers: ({ quota, windowSeconds, remaining, leftMs }) => ({
      'RateLimit-Limit': `${quota}, ${quota};w=${windowSeconds}`,
      'RateLimit-Remaining': String(remaining),
      'RateLimit-Reset': seconds(leftMs),
    }),
  },
  'X-RateLimit in seconds since 1970': {
    headers: (state) => x(state, seconds(state.dateMs + state.leftMs)),
    dialect: { xRateLimitReset: 'epoch-seconds' },
  },
  'X-RateLimit in milliseconds since 1970': {
    headers: (state) => x(state, String(Math.ceil(state.dateMs + state.leftMs))),
    dialect: { xRateLimitReset: 'epoch-milliseconds' },
  },
  'X-RateLimit in seconds from now': {
    headers: (state) => x(state, seconds(state.leftMs)),
    dialect: { xRateLimitReset: 'delta-seconds' },
  },
  'X-RateLimit as a date': {
    headers: (state) => x(state, date(Math.ceil((state.dateMs + state.leftMs) / 1000) * 1000)),
    dialect: { xRateLimitReset: 'http-date' },
  },
}

/** A quota in each of the windows that begin with the first call after the last one. Headers are the test's own. */
export class WindowServer {
  admitted = 0
  refused = 0
  readonly #quota: number
  readonly #windowMs: number
  #used = 0
  #endMs = Number.NEGATIVE_INFINITY

  constructor(quota: number, windowMs: number) {
    this.#quota = quota
    this.#windowMs = windowMs
  }

  /** Counts one call at this instant, and says how it stands after it. */
  count(nowMs: number, dateMs: number): { readonly status: 200 | 429; readonly state: WindowState } {
    if (nowMs >= this.#endMs) {
      this.#endMs = nowMs + this.#windowMs
      this.#used = 0
    }
    const fits = this.#used < this.#quota
    if (fits) {
      this.#used += 1
      this.admitted += 1
    } else this.refused += 1
    const state = {
      quota: this.#quota,
      windowSeconds: Math.ceil(this.#windowMs / 1000),
      remaining: this.#quota - this.#used,
      leftMs: this.#endMs - nowMs,
      dateMs,
    }
    return { status: fits ? 200 : 429, state }
  }
}
