import { Readable } from 'node:stream'
import { createFetch } from '@ratepact/client'
import got, { type BeforeRequestHook } from 'got'

const api = createFetch({ maxWaitSeconds: 30 })

/** Makes the request in got's place. What a hook returns is taken for the response. */
const paced: BeforeRequestHook = async ({ url, method, headers, body }) => {
  const given = Object.entries(headers).filter(([name]) => !/^(host|connection|content-length)$/.test(name))
  const response = await api(url ?? '', {
    method,
    headers: given.flatMap(([name, value]) =>
      [value ?? []].flat().map((each) => [name, each] as [string, string]),
    ),
    body: body as RequestInit['body'],
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  const { status, statusText } = response
  const message = { statusCode: status, statusMessage: statusText, url: response.url, complete: true }
  return Object.assign(Readable.from([bytes]), message, {
    headers: Object.fromEntries(response.headers),
  }) as never
}

export const client = got.extend({
  retry: { limit: 0 },
  decompress: false,
  hooks: { beforeRequest: [paced] },
})
