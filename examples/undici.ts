import { pace } from '@ratepact/client/undici'
import { Agent, request } from 'undici'

export const pacing = pace({ maxWaitSeconds: 30 })
const dispatcher = new Agent().compose(pacing)

export async function order(url: string, item: string) {
  const { body } = await request(`${url}/orders`, {
    dispatcher,
    method: 'POST',
    body: JSON.stringify({ item }),
  })
  return body.json()
}
