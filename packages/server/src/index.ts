export type { LeaseOptions } from './advance/lease-options.js'
export type { ConcurrencyOptions, ConcurrencyPolicy } from './algorithm/concurrency.js'
export { concurrency } from './algorithm/concurrency.js'
export type { FixedWindowOptions, FixedWindowPolicy } from './algorithm/fixed-window.js'
export { fixedWindow } from './algorithm/fixed-window.js'
export type { LeakyBucketOptions, LeakyBucketPolicy } from './algorithm/leaky-bucket.js'
export { leakyBucket } from './algorithm/leaky-bucket.js'
export type { Reading } from './algorithm/meter.js'
export type {
  SlidingWindowCounterOptions,
  SlidingWindowCounterPolicy,
} from './algorithm/sliding-window-counter.js'
export { slidingWindowCounter } from './algorithm/sliding-window-counter.js'
export type { SlidingWindowLogOptions, SlidingWindowLogPolicy } from './algorithm/sliding-window-log.js'
export { slidingWindowLog } from './algorithm/sliding-window-log.js'
export type { TokenBucketOptions, TokenBucketPolicy } from './algorithm/token-bucket.js'
export { tokenBucket } from './algorithm/token-bucket.js'
export type { ConsumeOptions, ResetOptions } from './call.js'
export type { Cost } from './cost.js'
export type {
  Admitted,
  Decision,
  Impossible,
  Limit,
  Refused,
  ShadowResult,
  Source,
  Unavailable,
  Unchecked,
} from './decision.js'
export type { DecisionEvent, FailureReason, LimiterEvent } from './events.js'
export type { BreakerState } from './failure/breaker.js'
export type { LocalMode, OnStoreFailure } from './failure/mode.js'
export type { StoreErrorOptions } from './failure/store-error.js'
export { StoreError } from './failure/store-error.js'
export type { FailureMode } from './failure/watch.js'
export type { Addressed } from './http/address.js'
export { clientAddress } from './http/address.js'
export type { Limiter } from './limiter.js'
export { createLimiter } from './limiter.js'
export type {
  CandidatesOf,
  LimiterOptions,
  LimiterSettings,
  PlannedLimiterOptions,
} from './limiter-options.js'
export type { MemoryStoreOptions } from './memory/store.js'
export { memoryStore } from './memory/store.js'
export type { Metrics, Watched, Watcher } from './metrics/metrics.js'
export type { Partition, PartitionInput } from './partition.js'
export { PartitionError } from './partition.js'
export type { Plans } from './plans.js'
export type { KindOf, LiveNameOf, NameOf, Policy, PolicyOptions, Shadowed } from './policy.js'
export type {
  Advance,
  BucketOwner,
  Change,
  Charge,
  Crowd,
  Finding,
  Once,
  Op,
  Reply,
  Store,
  StoreEvent,
  Trial,
  TrialReply,
} from './store.js'
export type { Logger } from './tell/logger.js'
export type { Offender } from './top/offenders.js'
