import { createFetch } from '@ratepact/client'
import { catalogue, type Dialect, dialects, github } from '@ratepact/client/dialects'

const acme: Dialect = {
  name: 'acme',
  hosts: ['api.acme.test', '*.acme.test'],
  limits: [
    // Acme-Max: 100, Acme-Used: 40, Acme-Again: 1500 (milliseconds)
    { name: 'calls', quota: 'Acme-Max', used: 'Acme-Used', reset: 'Acme-Again', resetIn: 'milliseconds' },
    // 20 exports in each hour, of which Acme-Exports-Left are left
    { name: 'exports', quota: 20, window: 3600, left: 'Acme-Exports-Left' },
  ],
  refusals: [403],
}
const enterprise: Dialect = { ...github, hosts: ['github.example.com'] }

export const api = createFetch({ dialect: dialects([acme, enterprise, ...catalogue]) })
