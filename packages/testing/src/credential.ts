/** What calls without a credential are counted under. */
export const anonymous = 'anonymous'

/**
 * Who calls, by default: the text of `x-api-key`, else of `Authorization`, else `anonymous`. The client keeps
 * its state apart by the same two.
 */
export function credentialOf(request: Request): string {
  return request.headers.get('x-api-key') || request.headers.get('authorization') || anonymous
}
