import type { BucketOwner, Charge, Crowd, Once, Op, Trial } from './store.js'

type ConsumeOp = Extract<Op, { kind: 'consume' }>
type PeekOp = Extract<Op, { kind: 'peek' }>

// Classes, since there is one of each for each call: see `listOf`. What few calls have is set by who makes them.

export class Consume implements ConsumeOp {
  readonly kind = 'consume'
  readonly charges: readonly Charge[]
  readonly blocks: readonly BucketOwner[]
  readonly lease: string
  declare trials?: readonly Trial[]
  declare once?: Once
  declare crowd?: Crowd

  constructor(charges: readonly Charge[], blocks: readonly BucketOwner[], lease: string) {
    this.charges = charges
    this.blocks = blocks
    this.lease = lease
  }
}

export class Peek implements PeekOp {
  readonly kind = 'peek'
  readonly charges: readonly Charge[]
  readonly blocks: readonly BucketOwner[]
  declare trials?: readonly Trial[]
  declare once?: Once
  declare crowd?: Crowd

  constructor(charges: readonly Charge[], blocks: readonly BucketOwner[]) {
    this.charges = charges
    this.blocks = blocks
  }
}
