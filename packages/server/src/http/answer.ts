/** What the answer to a call came to, once it is complete or nobody takes any more of it. */
export interface Answer {
  /** Absent where the client had gone before there was any. */
  readonly status?: number
  /** Bytes of its body that were handed over to be sent, before anything compresses them. */
  readonly bytes: number
  /** Whether it was sent to its end. */
  readonly complete: boolean
}
