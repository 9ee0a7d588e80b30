import type { Verdict } from '../retry-options.js'

/** Codes in `errors[].extensions.code` that say that a limit is exhausted. */
const codes: readonly unknown[] = ['THROTTLED', 'RATELIMITED', 'RATE_LIMITED']

/**
 * The `retry.classify` option for GraphQL APIs, whose refusals come with status 200 (Shopify, GitHub) or 400 (Linear): finds
 * `THROTTLED`, `RATELIMITED` or `RATE_LIMITED` among the errors.
 *
 * @example
 * createFetch({ dialect: dialects(), retry: { classify: graphqlRefusals } })
 */
export async function graphqlRefusals(
  { status, headers }: Response,
  peek: () => Promise<string>,
): Promise<Verdict> {
  if ((status !== 200 && status !== 400) || !/json/i.test(headers.get('content-type') ?? '')) return undefined
  const said = parsed(await peek())
  const errors: unknown = said?.errors
  return Array.isArray(errors) && errors.slice(0, 100).some(isRefusal) ? 'limited' : undefined
}

function isRefusal(error: unknown): boolean {
  const { type, extensions } = Object(error)
  return codes.includes(Object(extensions).code) || codes.includes(type)
}

/** What was cut off is no JSON, and an answer that long is no refusal. */
function parsed(text: string): { errors?: unknown } | undefined {
  try {
    return Object(JSON.parse(text))
  } catch {
    return undefined
  }
}
