import type { CallOptions } from '../call-options.js'

/**
 * The options of a call with what it says about itself in them as `rateLimit`, which undici's types do not know.
 *
 * @example
 * await request(url, withRateLimit({ dispatcher, method: 'POST' }, { cost: 2 }))
 */
export function withRateLimit<Options extends object>(options: Options, rateLimit: CallOptions): Options {
  return { ...options, rateLimit }
}
