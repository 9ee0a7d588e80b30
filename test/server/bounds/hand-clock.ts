import { memoryStore, type Store } from '@ratepact/server'
import type { Redis } from 'ioredis'
// Not for users: a store with other scripts. Only the clock is swapped here, in the text that ships.
import * as shipped from '../../../packages/server/src/redis/scripts.js'
import { createRedisStore, type Scripts } from '../../../packages/server/src/redis/store.js'

/** A clock that a test moves, in whole µs; it begins at an instant of today's size, at the edge of every short window. */
export interface HandClock {
  nowUs: number
}

export const START_US = 1_796_256_000_000_000

export function handClock(): HandClock {
  return { nowUs: START_US }
}

export function memoryOn(clock: HandClock): Store {
  return memoryStore({ clock: { now: () => clock.nowUs / 1000 } })
}

/** The texts of scripts, by name. */
export type Texts = Readonly<Record<string, string>>

/** The scripts as they ship with a change made to their texts, and arguments that go with every call. */
export function scriptsWith(change: (texts: Texts) => Texts, extra?: () => readonly string[]): Scripts {
  return { ...change(shipped), ...(extra && { extra }) } as unknown as Scripts
}

/**
 * What a script calls in place of Redis: the clock is the test's. Redis goes on to expire keys by its own, which the
 * test's may be far from, so keys live an hour longer here; how long they should is tested with the shipped scripts.
 */
const CLOCK = `local real = redis
local redis = { pcall = real.pcall, call = function(...)
  local words = { ... }
  if words[1] == 'TIME' then
    return { 0, ARGV[#ARGV] }
  end
  for i, word in ipairs(words) do
    if word == 'PXAT' then
      word, words[i], words[i + 1] = 'PX', 'PX', words[i + 1] - math.floor(ARGV[#ARGV] / 1000)
    end
    if word == 'PX' or word == 'PEXPIRE' then
      local at = word == 'PX' and i + 1 or 3
      words[at] = words[at] + 3600000
    end
  end
  return real.call(unpack(words))
end }
`

/** The scripts by a clock of the test, else as they ship or with a change made to their texts. */
export function handScripts(clock: HandClock, change: (texts: Texts) => Texts = (texts) => texts): Scripts {
  const onHand = (texts: Texts) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, CLOCK + text]))
  return scriptsWith(
    (texts) => onHand(change(texts)),
    () => [String(clock.nowUs)],
  )
}

export function redisOn(client: Redis, scripts: Scripts, prefix = 'rl'): Store {
  return createRedisStore(client, { prefix, timeoutMs: 20_000 }, scripts)
}

/** Texts with a part replaced wherever it is. @throws Error where it is in none: the change would be no change */
export function changed(texts: Texts, part: string, by: string): Texts {
  if (!Object.values(texts).some((text) => text.includes(part)))
    throw new Error(`No script has ${JSON.stringify(part)}, which was to be changed`)
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, text.replaceAll(part, () => by)]),
  )
}
