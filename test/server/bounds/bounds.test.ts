import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { startRedis, type TestRedis } from '../../redis.js'
import { handClock, handScripts, memoryOn, redisOn } from './hand-clock.js'
import { play } from './play.js'
import { type Counted, type Kind, long, rules, type Scale, seconds, short } from './rules.js'
import { schedules } from './schedule.js'

const kinds: readonly Kind[] = ['bucket', 'queue', 'calendar', 'from-first', 'log', 'counter', 'places']

const RUNS = Number(process.env.HISTORIES ?? 40)

let server: TestRedis
let client: Redis
let prefixes = 0
beforeAll(async () => {
  server = await startRedis()
  client = server.client()
})
afterAll(() => server.stop())

/** One to three policies, counted by the client or by an account that all clients share. */
function counted(of: readonly Kind[], scale: Scale): fc.Arbitrary<readonly Counted[]> {
  const rule = fc.constantFrom(...of).chain((kind) => rules(kind, scale))
  const one = fc.record<Counted>({ rule, by: fc.constantFrom('client', 'client', 'account') })
  return fc.array(one, { minLength: 1, maxLength: 3 })
}

const families: readonly (readonly [name: string, of: readonly Kind[]])[] = [
  ...kinds.map((kind) => [`policies of the kind ${kind}`, [kind]] as const),
  ['policies of all kinds together', kinds],
]

describe('a limiter says of any schedule what the definitions of its algorithms say, and keeps their bounds', () => {
  it.each(families)('in memory, with %s', { timeout: 60_000 }, async (_, of) => {
    for (const scale of [short, long])
      await fc.assert(
        fc.asyncProperty(counted(of, scale), schedules(of.includes('places')), async (policies, steps) => {
          const clock = handClock()
          await play(memoryOn(clock), clock, policies, steps)
        }),
        { numRuns: 2 * RUNS },
      )
  })

  const holding: readonly Kind[] = ['bucket', 'calendar', 'from-first']
  const held = (scale: Scale) =>
    fc.tuple(
      counted(holding, scale),
      schedules(false),
      fc.constantFrom(...[0.05, 0.3, 1, 10].map((seconds) => seconds * 1e6)),
    )

  it('in memory, where calls are held', { timeout: 60_000 }, async () => {
    for (const scale of [short, seconds])
      await fc.assert(
        fc.asyncProperty(held(scale), async ([policies, steps, holdUs]) => {
          const clock = handClock()
          await play(memoryOn(clock), clock, policies, steps, holdUs)
        }),
        { numRuns: 4 * RUNS },
      )
  })

  it('in Redis, where calls are held', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(held(seconds), async ([policies, steps, holdUs]) => {
        const clock = handClock()
        prefixes += 1
        await play(redisOn(client, handScripts(clock), `run${prefixes}-`), clock, policies, steps, holdUs)
      }),
      { numRuns: 2 * RUNS },
    )
  })

  it.each(families)('in Redis, with %s', { timeout: 60_000 }, async (_, of) => {
    await fc.assert(
      fc.asyncProperty(counted(of, long), schedules(of.includes('places')), async (policies, steps) => {
        const clock = handClock()
        prefixes += 1
        await play(redisOn(client, handScripts(clock), `run${prefixes}-`), clock, policies, steps)
      }),
      { numRuns: RUNS },
    )
  })
})
