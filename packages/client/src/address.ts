/** Addresses that are called again and again are few; what is more than that is not worth keeping. */
const mostKept = 100

/** An address to call. What each call would read off it anew is kept. */
export interface Address {
  readonly location: URL
  readonly origin: string
  /** Its path as routes have it, once that was asked for. */
  path: string | undefined
}

export function addressAt(location: URL): Address {
  return { location, origin: location.origin, path: undefined }
}

/** Whether a text means the same address everywhere, and not one relative to the page. */
export function isAbsolute(text: string): boolean {
  return /^\s*https?:\/\//i.test(text)
}

/** The addresses called lately, by their texts. */
export class Addresses {
  readonly #known = new Map<string, Address>()

  /** Undefined for what is not HTTP, or no URL at all. */
  read(text: string): Address | undefined {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const location = parse(text)
    if (location === undefined || !/^https?:$/.test(location.protocol)) return undefined
    if (this.#known.size >= mostKept) this.#known.clear()
    const address = addressAt(location)
    if (isAbsolute(text)) this.#known.set(text, address)
    return address
  }
}

/** A page resolves relative addresses against its own; elsewhere there is nothing to resolve against. */
function parse(text: string): URL | undefined {
  try {
    return new URL(text, globalThis.document?.baseURI ?? globalThis.location?.href)
  } catch {
    return undefined
  }
}
