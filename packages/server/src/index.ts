export type { TokenBucketOptions, TokenBucketPolicy } from './algorithm/token-bucket.js'
export { tokenBucket } from './algorithm/token-bucket.js'
export type { Cost } from './cost.js'
export type {
  Admitted,
  Decision,
  Impossible,
  Limit,
  Refused,
  Source,
  Unavailable,
  Unchecked,
} from './decision.js'
export type { FailureReason, LimiterEvent } from './events.js'
export { StoreError } from './failure/store-error.js'
export type { Addressed } from './http/address.js'
export { clientAddress } from './http/address.js'
export type { ConsumeOptions, Limiter, LimiterOptions, OnStoreFailure } from './limiter.js'
export { createLimiter } from './limiter.js'
export type { MemoryStoreOptions } from './memory/store.js'
export { memoryStore } from './memory/store.js'
export type { Partition, PartitionInput } from './partition.js'
export { PartitionError } from './partition.js'
export type { KindOf, NameOf, Policy, PolicyOptions } from './policy.js'
export type { BucketOwner, Charge, Finding, Op, Reply, Store, StoreEvent } from './store.js'
