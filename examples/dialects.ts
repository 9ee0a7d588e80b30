import { createFetch } from '@ratepact/client'
import { dialects } from '@ratepact/client/dialects'

const api = createFetch({ dialect: dialects() })
const response = await api('https://api.github.com/rate_limit')
console.log(response.status, api.limits('https://api.github.com/rate_limit'))
