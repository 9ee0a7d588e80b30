export type { Clock } from './clock.js'
export { systemClock } from './clock.js'
export type { FieldResult, QuotaPolicy, Refill, ServiceLimit } from './limits.js'
