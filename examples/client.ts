import { createFetch } from '@ratepact/client'

const api = createFetch({ maxWaitSeconds: 30 })
const order = () => api('http://127.0.0.1:3000/orders', { method: 'POST' })
const responses = await Promise.all(Array.from({ length: 100 }, order))
console.log(`${responses.filter(({ ok }) => ok).length} of ${responses.length} orders placed`)
