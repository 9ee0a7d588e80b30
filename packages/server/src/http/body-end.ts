/** An answer whose body is watched. */
export interface Watched {
  readonly response: Response
  /** Whether some of the body has been taken since this was last asked, or somebody is waiting for more of it. */
  moved(): boolean
  /** How much of it has been taken. */
  bytes(): number
}

/**
 * The same response, and a word when its body has been read to the end, given up or failed; at once without a body. The
 * word says whether it was read to the end.
 */
export function watchBody(response: Response, ended: (complete: boolean) => void): Watched {
  if (response.body === null) {
    ended(true)
    return { response, moved: () => false, bytes: () => 0 }
  }
  // Some platforms send texts, too, of which a body may not be by its type.
  const reader: ReadableStreamDefaultReader<unknown> = response.body.getReader()
  let waiting = false
  let taken = true
  let bytes = 0
  const source: UnderlyingDefaultSource<unknown> = {
    async pull(controller) {
      waiting = true
      let complete = false
      try {
        const { done, value } = await reader.read()
        if (!done) {
          bytes += sizeOf(value)
          return controller.enqueue(value)
        }
        controller.close()
        complete = true
      } catch (error) {
        controller.error(error)
      } finally {
        waiting = false
        taken = true
      }
      ended(complete)
    },
    async cancel(reason) {
      ended(false)
      await reader.cancel(reason)
    },
  }
  // Nothing is read ahead: what is pulled is what somebody has asked for.
  const body = new ReadableStream<unknown>(source, { highWaterMark: 0 })
  const { status, statusText, headers } = response
  return {
    response: new Response(body as ReadableStream<Uint8Array>, { status, statusText, headers }),
    moved() {
      const moved = waiting || taken
      taken = false
      return moved
    },
    bytes: () => bytes,
  }
}

function sizeOf(chunk: unknown): number {
  if (typeof chunk === 'string') return new TextEncoder().encode(chunk).byteLength
  const { byteLength } = (chunk ?? {}) as Partial<ArrayBufferView>
  return typeof byteLength === 'number' ? byteLength : 0
}
