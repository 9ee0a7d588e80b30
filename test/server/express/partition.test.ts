import { memoryStore, type Store, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import type { ErrorRequestHandler } from 'express'
import { describe, expect, it, vi } from 'vitest'
import { majors, serve } from './helper.js'

const byClient = tokenBucket({ name: 'all', capacity: 100, refillPerSecond: 1 })
const byAccount = tokenBucket({ name: 'daily', capacity: 100, refillPerSecond: 1, by: 'account' })
const report: ErrorRequestHandler = (error, _req, res, _next) => {
  res.status(500).json({ name: error.name, message: error.message })
}

/** A store that notes for whom it is asked. */
function noting(): { readonly store: Store; readonly owners: string[] } {
  const inner = memoryStore()
  const owners: string[] = []
  const store: Store = {
    name: 'noting',
    run(ops, deadlineMs) {
      for (const op of ops)
        for (const { owner } of op.kind === 'consume' ? op.charges : [])
          owners.push(`${owner.kind}=${owner.value}`)
      return inner.run(ops, deadlineMs)
    },
    close: () => inner.close(),
  }
  return { store, owners }
}

describe.each(majors)('Who is counted on %s', (_, express) => {
  async function start(options: object, prepare: (app: ReturnType<typeof express>) => void = () => {}) {
    const { store, owners } = noting()
    const warnings: string[] = []
    const app = express()
    prepare(app)
    app.use(
      rateLimit({
        policies: [byClient],
        store,
        onWarning: (text: string) => warnings.push(text),
        ...options,
      } as never),
    )
    app.get('/', (_req, res) => void res.send('handled'))
    app.use(report)
    return { ...(await serve(app)), owners, warnings }
  }

  describe('by what the user says', () => {
    const partition = (req: { get(name: string): string | undefined }) => ({
      client: req.get('x-client'),
      account: req.get('x-account') as string,
    })
    const policies = [byClient, byAccount]

    it('is each kind that the policies count', async () => {
      const { ask, owners, warnings } = await start({ policies, partition })
      await ask('/', { headers: { 'x-client': 'c', 'x-account': 'a' } })
      expect(owners).toEqual(['client=c', 'account=a'])
      expect(warnings).toEqual([])
    })

    it('may be found out asynchronously, and be one text', async () => {
      const { ask, owners } = await start({ partition: async () => 'someone' })
      await ask('/')
      expect(owners).toEqual(['client=someone'])
    })

    it('is the address for a value that is missing, with one warning', async () => {
      const { ask, owners, warnings } = await start({ policies, partition })
      await ask('/', { headers: { 'x-client': 'c' } })
      await ask('/', { headers: { 'x-client': 'c', 'x-account': '' } })
      await ask('/')
      expect(owners).toEqual([
        'client=c',
        'account=127.0.0.1',
        'client=c',
        'account=127.0.0.1',
        'client=127.0.0.1',
        'account=127.0.0.1',
      ])
      expect(warnings).toEqual([
        'rateLimit: partition gave no value for "account", so the client\'s address is counted instead. ' +
          "Set missingPartition to 'address' if that is meant, else to 'reject' or 'skip'.",
      ])
    })

    it('is the address without a warning if that was asked for', async () => {
      const { ask, owners, warnings } = await start({
        partition: () => undefined,
        missingPartition: 'address',
      })
      await ask('/')
      expect(owners).toEqual(['client=127.0.0.1'])
      expect(warnings).toEqual([])
    })

    it.each([undefined, null, '', {}, { client: undefined }, { client: null }, { client: '' }])(
      'takes %j for missing',
      async (given) => {
        const rejected = await start({ partition: () => given, missingPartition: 'reject' })
        const answer = await rejected.ask('/')
        expect(answer.status).toBe(500)
        expect(JSON.parse(answer.body)).toMatchObject({
          name: 'PartitionError',
          message: expect.stringContaining('Policy "all" counts by "client"'),
        })
        const skipped = await start({ partition: () => given, missingPartition: 'skip' })
        expect((await skipped.ask('/')).body).toBe('handled')
        expect([...rejected.owners, ...skipped.owners]).toEqual([])
      },
    )

    it.each([42, true, ['x'], { client: 42 }, { client: 'c', accuont: 'a' }])(
      'refuses %j as no partition',
      async (given) => {
        for (const missingPartition of ['address', 'skip']) {
          const { ask, owners } = await start({ partition: () => given, missingPartition })
          const answer = await ask('/')
          expect(answer.status).toBe(500)
          expect(JSON.parse(answer.body).name).toBe('PartitionError')
          expect(owners).toEqual([])
        }
      },
    )

    it('passes on although the listener of warnings throws', async () => {
      const { ask, owners } = await start({
        partition: () => undefined,
        onWarning: () => {
          throw new Error('my fault')
        },
      })
      expect((await ask('/')).status).toBe(200)
      expect(owners).toEqual(['client=127.0.0.1'])
    })

    it("warns among the process's warnings unless told otherwise", async () => {
      const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      const { ask } = await start({ partition: () => undefined, onWarning: undefined })
      await ask('/')
      await ask('/')
      expect(emitted.mock.calls).toEqual([[expect.stringContaining('missingPartition'), 'RatepactWarning']])
      emitted.mockRestore()
    })
  })
})
