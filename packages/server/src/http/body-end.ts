/** An answer whose body is watched. */
export interface Watched {
  readonly response: Response
  /** Whether some of the body has been taken since this was last asked, or somebody is waiting for more of it. */
  moved(): boolean
}

/** The same response, and a word when its body has been read to the end, given up or failed; at once without a body. */
export function watchBody(response: Response, ended: () => void): Watched {
  if (response.body === null) {
    ended()
    return { response, moved: () => false }
  }
  const reader = response.body.getReader()
  let waiting = false
  let taken = true
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      waiting = true
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
      } catch (error) {
        controller.error(error)
      } finally {
        waiting = false
        taken = true
      }
      ended()
    },
    async cancel(reason) {
      ended()
      await reader.cancel(reason)
    },
  }
  // Nothing is read ahead: what is pulled is what somebody has asked for.
  const body = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 })
  const { status, statusText, headers } = response
  return {
    response: new Response(body, { status, statusText, headers }),
    moved() {
      const moved = waiting || taken
      taken = false
      return moved
    },
  }
}
