import { createFetch } from '@ratepact/client'
import createClient from 'openapi-fetch'

// As openapi-typescript makes it from a description of the API.
interface paths {
  '/orders': {
    post: {
      requestBody: { content: { 'application/json': { item: string } } }
      responses: { 200: { content: { 'application/json': { ordered: string } } } }
    }
  }
}

const api = createFetch({ maxWaitSeconds: 30 })
export const connect = (baseUrl: string) => createClient<paths>({ baseUrl, fetch: api })
