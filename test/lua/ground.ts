import {
  createLimiter,
  type Decision,
  type Limiter,
  type LimiterSettings,
  type Policy,
  type Store,
} from '@ratepact/server'
import type { Redis } from 'ioredis'
import { type HandClock, handScripts, redisOn, scriptsWith, type Texts } from '../server/bounds/hand-clock.js'

/** Where a check is made: an empty Redis, and scripts that may have a fault. */
export interface Ground {
  readonly redis: Redis
  readonly change: (texts: Texts) => Texts
  /** Ends what the check opened. */
  readonly opened: Limiter[]
}

/** A limiter that is closed when the check ends. */
export function open(
  ground: Ground,
  policies: readonly Policy[],
  store = shippedStore(ground),
  settings: LimiterSettings & { readonly candidate?: readonly Policy[] } = {},
): Limiter {
  const limiter = createLimiter({
    policies,
    store,
    onStoreFailure: 'closed',
    denyCache: false,
    ...settings,
  }) as Limiter
  ground.opened.push(limiter)
  return limiter
}

/** @param processUs the clock of the process, which no script may go by */
export function shippedStore({ redis, change }: Ground, processUs = () => Date.now() * 1000): Store {
  return redisOn(
    redis,
    scriptsWith(change, () => [String(processUs())]),
  )
}

export function handStore({ redis, change }: Ground, clock: HandClock, prefix?: string): Store {
  return redisOn(redis, handScripts(clock, change), prefix)
}

/** How many of some calls made at once are admitted. */
export async function admittedOf(calls: readonly Promise<Decision>[]): Promise<number> {
  return (await Promise.all(calls)).filter(({ allowed }) => allowed).length
}

/** Units left, by policy. */
export async function left(
  limiter: Limiter,
  who: string | Record<string, string> = 'c',
): Promise<readonly number[]> {
  const decision = await limiter.peek(who)
  return 'limits' in decision ? decision.limits.map(({ available }) => available) : []
}

/** How long each key lives, in ms. */
export async function lives({ redis }: Ground): Promise<readonly (readonly [key: string, ms: number])[]> {
  return Promise.all((await redis.keys('*')).map(async (key) => [key, await redis.pttl(key)] as const))
}
