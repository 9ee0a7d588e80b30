/** The same response, and a word when its body has been read to the end, given up or failed; at once without a body. */
export function atBodyEnd(response: Response, ended: () => void): Response {
  if (response.body === null) {
    ended()
    return response
  }
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
      } catch (error) {
        controller.error(error)
      }
      ended()
    },
    async cancel(reason) {
      ended()
      await reader.cancel(reason)
    },
  })
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}
