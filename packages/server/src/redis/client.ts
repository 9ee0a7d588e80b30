/**
 * What is used of a Redis client. `Redis` of ioredis 5 and 6 fits as it is; the client's own types are not
 * needed to compile against this package.
 */
export interface RedisClient {
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  // biome-ignore lint/suspicious/noExplicitAny: each major version of ioredis has its own type of options
  duplicate(overrides?: any): RedisClient
  connect(): Promise<void>
  disconnect(): void
  // biome-ignore lint/suspicious/noExplicitAny: listeners differ by event
  on(event: string, listener: (...values: any[]) => void): unknown
  // biome-ignore lint/suspicious/noExplicitAny: listeners differ by event
  off(event: string, listener: (...values: any[]) => void): unknown
  readonly status: string
}
