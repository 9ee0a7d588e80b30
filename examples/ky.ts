import { createFetch } from '@ratepact/client'
import ky from 'ky'

export const client = ky.create({ fetch: createFetch({ maxWaitSeconds: 30 }), retry: 0, timeout: false })
