import type { Limiter } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/fetch'

/** What a platform hands a handler beside the request: that of Deno has the address so. */
interface Platform {
  readonly remoteAddr: { readonly hostname: string }
}

export function fetchHandler(limiter: Limiter<string, 'client'>) {
  const limit = rateLimit({
    limiter,
    address: (_request, { remoteAddr }: Platform) => remoteAddr.hostname,
  })
  return limit((_request: Request, _platform: Platform) => Response.json([]))
}
