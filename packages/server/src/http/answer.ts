/** What the answer to a call came to, once it is complete or nobody takes any more of it. */
export interface Answer {
  /** Absent where the client had gone before there was any. */
  readonly status?: number
  /**
   * Bytes of its body as they came from what stands behind the limiter: compressed where that is what compresses them, none
   * where the status has no body.
   */
  readonly bytes: number
  /** Whether it was sent to its end. */
  readonly complete: boolean
}
