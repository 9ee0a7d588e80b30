import { setTimeout as sleep } from 'node:timers/promises'
import { createFetch } from '@ratepact/client'

export type ClientName = 'fetch' | 'ratepact'

/** What a person is shown. */
export const titles: Readonly<Record<ClientName, string>> = {
  fetch: 'fetch, again every second',
  ratepact: 'fetch of @ratepact/client',
}

/** Makes one call, however often it has to be sent; whether it was done in the end. */
export type MakeCall = (url: string, init: RequestInit) => Promise<boolean>

/** What is commonly written: again every second, until it works. */
export const plainFetch: MakeCall = async (url, init) => {
  for (;;) {
    const response = await fetch(url, init)
    await response.arrayBuffer()
    if (response.ok) return true
    await sleep(1000)
  }
}

/** The same calls through a fetch that keeps to the limits. */
export function pacedFetch(): MakeCall {
  const api = createFetch({ maxWaitSeconds: 30 })
  return async (url, init) => {
    const response = await api(url, init)
    await response.arrayBuffer()
    return response.ok
  }
}
