import { createFetch } from '@ratepact/client'
import axios from 'axios'

export const client = axios.create({ adapter: 'fetch', env: { fetch: createFetch({ maxWaitSeconds: 30 }) } })
