import type { Addressed } from './address.js'
import type { Trust } from './address-watch.js'
import type { Seen } from './core.js'

/** A request that a framework has made ready, as all of them have it. */
interface Made extends Addressed {
  readonly method: string
  readonly headers: { readonly [name: string]: string | string[] | undefined }
}

/** What is alike in all frameworks. A class, since there is one for each request: closures are dearer. */
export abstract class RequestSeen<Request extends Made> implements Seen {
  readonly from: Request
  readonly shared: object

  constructor(from: Request, shared: object) {
    this.from = from
    this.shared = shared
  }

  get method(): string {
    return this.from.method
  }

  header(name: string): string | string[] | undefined {
    return this.from.headers[name]
  }

  abstract trust(): Trust
  abstract scope(): string
}
