import { createLimiter, tokenBucket } from '@ratepact/server'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { benches } from './stores.js'

const policies = [
  tokenBucket({ name: 'burst', capacity: 10, refillPerSecond: 0.001 }),
  tokenBucket({ name: 'team', capacity: 10, refillPerSecond: 0.001, by: 'account' }),
] as const
const who = { client: 'a', account: 'x' }

for (const bench of benches)
  describe(`on ${bench.name}`, () => {
    beforeAll(() => bench.start())
    afterAll(() => bench.stop())

    function open(options: object = {}) {
      const under = bench.open()
      const limiter = createLimiter({
        policies,
        store: under.store,
        onStoreFailure: 'closed',
        blocks: true,
        denyCache: false,
        ...options,
      })
      onTestFinished(() => limiter.close())
      return { limiter, advance: under.advance }
    }

    describe('a blocked partition', () => {
      it('is refused whatever its policies say, until the block ends, and nothing is charged', async () => {
        const { limiter, advance } = open()
        await limiter.block({ client: 'a' }, 60)
        expect(await limiter.consume(who)).toEqual({
          outcome: 'blocked',
          allowed: false,
          retryAfterSeconds: 60,
          source: 'store',
          shadow: [],
        })
        advance(59_999)
        expect(await limiter.consume(who)).toMatchObject({ outcome: 'blocked', retryAfterSeconds: 0.001 })
        advance(1)
        expect(await limiter.consume(who)).toMatchObject({
          outcome: 'admitted',
          limits: [{ available: 9 }, { available: 9 }],
        })
      })

      it('stays blocked for ever when told so, through consuming and waiting', async () => {
        const { limiter, advance } = open()
        await limiter.block({ client: 'a' }, 'forever')
        for (let year = 0; year < 3; year += 1) {
          expect(await limiter.consume(who)).toEqual({
            outcome: 'blocked',
            allowed: false,
            source: 'store',
            shadow: [],
          })
          advance(365 * 86_400_000)
        }
        expect(await limiter.unblock({ client: 'a' })).toBe(true)
        expect(await limiter.unblock({ client: 'a' })).toBe(false)
        expect((await limiter.consume(who)).outcome).toBe('admitted')
      })

      it('is blocked by any of its kinds, and others are not', async () => {
        const { limiter } = open()
        await limiter.block({ account: 'x' }, 60)
        expect((await limiter.consume({ client: 'b', account: 'x' })).outcome).toBe('blocked')
        expect((await limiter.consume({ client: 'b', account: 'y' })).outcome).toBe('admitted')
        await limiter.block({ client: 'b', account: 'y' }, 'forever')
        expect((await limiter.consume({ client: 'b', account: 'z' })).outcome).toBe('blocked')
        expect((await limiter.peek({ client: 'c', account: 'y' })).outcome).toBe('blocked')
      })

      it('states the longest of its blocks', async () => {
        const { limiter } = open()
        await limiter.block({ client: 'a' }, 10)
        await limiter.block({ account: 'x' }, 30)
        expect(await limiter.consume(who)).toMatchObject({ retryAfterSeconds: 30 })
        await limiter.block({ client: 'a' }, 'forever')
        expect('retryAfterSeconds' in (await limiter.consume(who))).toBe(false)
      })

      it('cannot be blocked unless the limiter was made so, nor for nonsense', async () => {
        const { limiter } = open({ blocks: false })
        await expect(limiter.block({ client: 'a' }, 1)).rejects.toThrow('give createLimiter blocks: true')
        const { limiter: blocking } = open()
        await expect(blocking.block({ client: 'a' }, 0)).rejects.toThrow(
          'Expected seconds to be a number of seconds',
        )
        await expect(blocking.block({}, 1)).rejects.toThrow('Expected a partition to name at least one kind')
        // @ts-expect-error: nothing counts teams
        await expect(blocking.block({ team: 'a' }, 1)).rejects.toThrow(
          'No policy counts partitions of kind "team"',
        )
      })
    })

    describe('a call with an id', () => {
      const id = 'request-1'

      it('is charged once, however often it is sent, and answered with what is left now', async () => {
        const { limiter } = open()
        expect(await limiter.consume(who, { id, cost: 2 })).toMatchObject({
          replayed: false,
          limits: [{ available: 8 }, { available: 8 }],
        })
        await limiter.consume(who)
        for (let again = 0; again < 3; again += 1)
          expect(await limiter.consume(who, { id, cost: 2 })).toMatchObject({
            outcome: 'admitted',
            replayed: true,
            limits: [{ available: 7 }, { available: 7 }],
          })
        expect(await limiter.consume(who, { id, cost: 2 })).toMatchObject({
          replayed: false,
          limits: [{ available: 5 }, { available: 5 }],
        })
      })

      it('is repeated even when nothing is left', async () => {
        const { limiter } = open()
        await limiter.consume(who, { id, cost: 10 })
        expect((await limiter.consume(who)).outcome).toBe('refused')
        expect(await limiter.consume(who, { id, cost: 10 })).toMatchObject({
          outcome: 'admitted',
          replayed: true,
        })
      })

      it('is remembered by partition, scope and id, and only for a time', async () => {
        const { limiter, advance } = open({ idSeconds: 5 })
        await limiter.consume(who, { id })
        expect(await limiter.consume({ ...who, client: 'b' }, { id })).toMatchObject({ replayed: false })
        expect(await limiter.consume(who, { id, scope: 'GET /' })).toMatchObject({ replayed: false })
        expect(await limiter.consume(who, { id: 'request-2' })).toMatchObject({ replayed: false })
        expect(await limiter.consume(who, { id })).toMatchObject({ replayed: true })
        advance(5000)
        if (bench.name === 'memory')
          expect(await limiter.consume(who, { id })).toMatchObject({ replayed: false })
      })

      it('is looked at as it would be charged, and its repeats are not used up by looking', async () => {
        for (const blocks of [true, false]) {
          const { limiter } = open({ blocks })
          expect(await limiter.peek(who, { id })).toMatchObject({ replayed: false })
          await limiter.consume(who, { id, cost: 10 })
          for (let look = 0; look < 5; look += 1)
            expect(await limiter.peek(who, { id, cost: 10 })).toMatchObject({
              outcome: 'admitted',
              replayed: true,
              limits: [{ available: 0 }, { available: 0 }],
            })
          expect((await limiter.peek(who, { cost: 10 })).outcome).toBe('refused')
          expect(await limiter.consume(who, { id, cost: 10 })).toMatchObject({ replayed: true })
        }
      })

      it('is not remembered when it was refused', async () => {
        const { limiter } = open()
        const all = await limiter.consume(who, { cost: 10 })
        expect((await limiter.consume(who, { id })).outcome).toBe('refused')
        await limiter.refund(all)
        expect(await limiter.consume(who, { id })).toMatchObject({ outcome: 'admitted', replayed: false })
      })

      it('gives back what it charged by the decision that charged it, not by a repeat', async () => {
        const { limiter } = open()
        const first = await limiter.consume(who, { id, cost: 5 })
        const repeat = await limiter.consume(who, { id, cost: 5 })
        expect(await limiter.refund(repeat)).toBe(false)
        expect(await limiter.refund(first)).toBe(true)
        expect(await limiter.peek(who)).toMatchObject({ limits: [{ available: 10 }, { available: 10 }] })
      })

      it('counts once when it is sent many times at once', async () => {
        const { limiter } = open()
        const calls = await Promise.all(Array.from({ length: 4 }, () => limiter.consume(who, { id })))
        expect(calls.filter((call) => call.outcome === 'admitted' && call.replayed)).toHaveLength(3)
        expect(await limiter.peek(who)).toMatchObject({ limits: [{ available: 9 }, { available: 9 }] })
      })

      it.each(['', 'x'.repeat(257), 7])('is refused when it is %j', async (wrong) => {
        const { limiter } = open()
        await expect(limiter.consume(who, { id: wrong as string })).rejects.toThrow(
          'Expected id to be a text of 1 to 256 characters',
        )
      })
    })
  })
