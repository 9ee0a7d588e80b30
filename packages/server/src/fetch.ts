import { expected, expectFunction } from './expect.js'
import type { Addressed } from './http/address.js'
import { forgetCharged } from './http/charged.js'
import { createGate, type Seen } from './http/core.js'
import type { Denial, Denied } from './http/denial.js'
import { setDenialHeaders } from './http/denial-head.js'
import { createFetchStay, isResponse } from './http/fetch-stay.js'
import type { Head } from './http/head.js'
import type { ByLimiter, ByPlans, ByPolicies, HttpOptions, NeedsPlan } from './http/options.js'
import { scopeOf } from './http/scope.js'
import type { CandidatesOf, ListIn, NoCandidates } from './limiter-options.js'
import { listOf } from './list.js'
import type { Plans } from './plans.js'
import type { KindOf, LiveNameOf, NameOf, Policy } from './policy.js'

export type { Answer } from './http/answer.js'
export type { Denied } from './http/denial.js'
export type { HeaderOptions, MissingPartition } from './http/options.js'
export { scopeOf } from './http/scope.js'

/** What a user's functions are called with: the request, and whatever the platform hands a handler besides. */
// biome-ignore lint/suspicious/noExplicitAny: each platform has its own, and the functions say which they want
export type FetchArgs = readonly [request: Request, ...platform: any[]]

/** Options of `rateLimit`. `partition` or `address` is needed: a Request does not say from which address it came. */
export interface FetchOptions<
  Name extends string = string,
  Kind extends string = string,
  Counted extends string = Name,
> extends Omit<HttpOptions<Counted, Kind, FetchArgs, readonly []>, 'onDenied'> {
  /**
   * Answers a call that may not pass, in place of the problem details; `Retry-After`, `Cache-Control` and the
   * limits are put into the head of what it returns.
   */
  onDenied?(request: Request, decision: Denied<Name>): Response | Promise<Response>
  /**
   * From which address a request came, as the platform says and never as the client says. With it `partition` may be
   * left out, and `allow` and `deny` work.
   */
  address?(...args: FetchArgs): string | undefined
}

/** Answers requests. One may answer nothing where its platform has that mean something: Bun, that it was upgraded. */
export type FetchHandler<
  Args extends FetchArgs = FetchArgs,
  Given extends Response | undefined = Response | undefined,
> = (...args: Args) => Given | Promise<Given>

/** Puts a limit before a handler. */
export type FetchLimit = <Args extends FetchArgs, Given extends Response | undefined = Response>(
  handler: FetchHandler<Args, Given>,
) => (...args: Args) => Promise<Response | Extract<Given, undefined>>

/**
 * Limits a handler of Fetch API requests, as edge platforms, Deno, Bun and tests have them.
 * @throws TypeError or RangeError naming the option, the value and the rule
 * @example
 * const limit = rateLimit({ policies, partition: (request) => clientOf(request) }) // yours: whom it has checked
 * export default { fetch: limit((request) => new Response('hello')) }
 */
export function rateLimit<const P extends readonly Policy[], const C extends readonly Policy[] = readonly []>(
  options: ByPolicies<P, C> & FetchOptions<LiveNameOf<P>, KindOf<P> | KindOf<C>, NameOf<P> | NameOf<C>>,
): FetchLimit
export function rateLimit<const T extends Plans, const C extends CandidatesOf<T> = NoCandidates>(
  options: ByPlans<T, C> &
    NeedsPlan &
    FetchOptions<
      LiveNameOf<T[keyof T]>,
      KindOf<T[keyof T]> | KindOf<ListIn<C>>,
      NameOf<T[keyof T]> | NameOf<ListIn<C>>
    >,
): FetchLimit
export function rateLimit<
  Name extends string,
  Kind extends string,
  Plan extends string,
  Counted extends string,
>(
  options: ByLimiter<Name, Kind, Counted, Plan> &
    FetchOptions<NoInfer<Name>, NoInfer<Kind>, NoInfer<Counted>>,
): FetchLimit
export function rateLimit(options: object): FetchLimit {
  expectWho(options)
  const { address, ...others } = { ...(options as FetchOptions) }
  const gate = createGate<FetchArgs>('rateLimit', typeof options === 'object' ? others : options)
  // A parameter of its own: Deno hands nothing to what declares none.
  return ((handler: FetchHandler) =>
    async (request: Request, ...platform: unknown[]) => {
      const args: FetchArgs = listOf(request, ...platform)
      const seen = new FetchSeen(request, address?.(...args))
      const stay = createFetchStay(request)
      const decision = await gate.decide(args, seen, () => stay)
      if (decision === undefined) return handler(...args)
      gate.enter(decision, seen)
      // Nobody waits for an answer any more; the reason is what their own fetch rejects with.
      if (decision === 'gone') throw request.signal.reason
      // Before the handler, which may leave a request of which nothing can be read: Deno's, once it has been upgraded.
      const statement = gate.statement(decision, seen)
      const response = decision.allowed
        ? await stay.until(async () => handler(...args)).finally(() => forgetCharged(request, decision))
        : await deny(gate.denial(decision, seen), others.onDenied?.(request, decision))
      return statement === undefined || !isResponse(response)
        ? response
        : withHead(response, (head) => statement(response.status, head))
    }) as FetchLimit
}

/** A class, since there is one for each request: closures are dearer. */
class FetchSeen implements Seen, Addressed {
  readonly shared: Request
  readonly ip: string | undefined

  constructor(request: Request, ip: string | undefined) {
    this.shared = request
    this.ip = ip
  }

  get from(): Addressed {
    return this
  }

  get method(): string {
    return this.shared.method
  }

  get several(): boolean {
    return true
  }

  scope(): string {
    return scopeOf(this.shared.method, '')
  }

  header(name: string): string | null {
    return this.shared.headers.get(name)
  }
}

/** Without either, every request would be refused. */
function expectWho(options: unknown): void {
  if (typeof options !== 'object' || options === null) return
  const { partition, address, allow, deny } = options as Partial<FetchOptions>
  if (address !== undefined) expectFunction('address', address)
  else if (partition === undefined)
    throw new TypeError(
      expected('partition', 'a function: a Request does not say from whom it came', undefined),
    )
  else if (allow !== undefined || deny !== undefined)
    throw new TypeError(expected('address', 'a function where there is allow or deny', undefined))
}

async function deny(
  { status, headers, contentType, body }: Denial,
  own: Response | Promise<Response> | undefined,
): Promise<Response> {
  const response = (await own) ?? new Response(body, { status, headers: { 'Content-Type': contentType } })
  // What is no answer would be told as a success.
  if (!isResponse(response)) throw new TypeError(expected('what onDenied returns', 'a Response', response))
  return withHead(response, (head) => setDenialHeaders(head, headers))
}

/** The response with more in its head. A new one, since the head of one that came from elsewhere cannot be changed. */
function withHead(response: Response, write: (head: Head) => void): Response {
  const headers = new Headers(response.headers)
  let written = false
  write({
    get: (name) => headers.get(name) ?? undefined,
    set(name, value) {
      written = true
      headers.set(name, value)
    },
    remove(name) {
      written = true
      headers.delete(name)
    },
  })
  if (!written) return response
  const { status, statusText } = response
  return new Response(response.body, { status, statusText, headers })
}
