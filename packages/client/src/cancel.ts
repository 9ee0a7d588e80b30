/**
 * Lets go of a body that nobody reads. One that has failed already or is read by someone else needs no
 * cancelling, and one that is no web stream (node-fetch has those of Node) is left alone.
 */
export function cancelBody(body: unknown): void {
  if (typeof body !== 'object' || body === null || !('cancel' in body)) return
  void quietly(async () => (body as ReadableStream).cancel())
}

async function quietly(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch {}
}
