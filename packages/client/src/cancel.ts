/** A stream as Node has them: node-fetch and its like answer with one. */
export interface NodeStream {
  on(event: string, listener: () => void): unknown
  resume(): unknown
  destroy(): unknown
}

export function isNodeStream(body: unknown): body is NodeStream {
  return typeof body === 'object' && body !== null && 'resume' in body && 'destroy' in body && 'on' in body
}

/**
 * Lets go of a body that nobody reads, a web stream or one of Node. One that has failed already or is read by
 * someone else needs no cancelling.
 */
export function cancelBody(body: unknown): void {
  if (isNodeStream(body)) body.destroy()
  else if (typeof body === 'object' && body !== null && 'cancel' in body)
    void quietly(async () => (body as ReadableStream).cancel())
}

async function quietly(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch {}
}
