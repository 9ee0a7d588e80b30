export type { RedisClient } from './client.js'
export type { RedisStoreOptions } from './store.js'
export { redisStore } from './store.js'
