export type { Pacing, PacingOptions } from './pace.js'
export { pace } from './pace.js'
export { withRateLimit } from './with-rate-limit.js'
