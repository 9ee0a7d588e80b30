import { clientAddress, createLimiter, tokenBucket } from '@ratepact/server'
import { type Denied, rateLimit } from '@ratepact/server/express'
import express5 from 'express'
import express4 from 'express4'
import { expect, it } from 'vitest'

const byClient = tokenBucket({ name: 'burst', capacity: 100, refillPerSecond: 2 })
const byAccount = tokenBucket({ name: 'daily', capacity: 10_000, refillPerSecond: 1, by: 'account' })
const limiter = createLimiter({ policies: [byClient, byAccount] })
const plans = { free: [byClient], gold: [byClient] } as const
const planned = createLimiter({ plans })
const planless = createLimiter({ policies: [byClient] })
const handler = (_req: unknown, res: { end(): unknown }) => void res.end()

const isRefusedBy = <Name extends string>(decision: Denied<Name>, name: NoInfer<Name>) =>
  'violated' in decision && decision.violated.includes(name)

// What follows is checked by the compiler; that it also runs shows that nothing of it is refused when built.
it('fits the types of Express 5', () => {
  const app = express5()
  app.use(rateLimit({ policies: [byClient] }))
  app.use('/api', rateLimit({ policies: [byClient], partition: (req) => req.get('x-api-key') }))
  app.post(
    '/orders',
    rateLimit({
      limiter,
      partition: (req, res) => ({
        client: res.locals.clientId ?? clientAddress(req),
        account: res.locals.accountId,
      }),
    }),
    handler,
  )
  app.post(
    '/orders/:id',
    rateLimit({
      limiter,
      partition: (req: express5.Request, res: express5.Response) => ({
        client: req.ip,
        account: String(res.locals.a),
      }),
      cost: (req: express5.Request) => ({ daily: Number(req.params.id) }),
      scope: async (req: express5.Request) => req.path,
      skip: (req: express5.Request) => req.method === 'OPTIONS',
      onDenied: (req: express5.Request, res: express5.Response, next: express5.NextFunction, decision) => {
        if (decision.outcome === 'refused')
          res.status(429).json({ path: req.path, in: decision.retryAfterSeconds })
        else next()
      },
    }),
    (req, res) => {
      const id: string = req.params.id
      res.send(id)
    },
  )
  express5.Router().use(rateLimit({ limiter, partition: async () => ({ client: 'c', account: undefined }) }))
  expect(app).toBeDefined()
})

it('fits the types of Express 4', () => {
  const app = express4()
  app.use(rateLimit({ policies: [byClient] }))
  app.use('/api', rateLimit({ policies: [byClient], partition: (req) => req.get('x-api-key') }))
  app.post(
    '/orders',
    rateLimit({
      limiter,
      partition: (req, res) => ({
        client: res.locals.clientId ?? clientAddress(req),
        account: res.locals.accountId,
      }),
    }),
    handler,
  )
  app.post(
    '/orders/:id',
    rateLimit({
      limiter,
      partition: (req: express4.Request, res: express4.Response) => ({
        client: req.ip,
        account: String(res.locals.a),
      }),
      cost: (req: express4.Request) => ({ daily: Number(req.params.id) }),
      scope: async (req: express4.Request) => req.path,
      skip: (req: express4.Request) => req.method === 'OPTIONS',
      onDenied: (req: express4.Request, res: express4.Response, next: express4.NextFunction, decision) => {
        if (decision.outcome === 'refused')
          res.status(429).json({ path: req.path, in: decision.retryAfterSeconds })
        else next()
      },
    }),
    (req, res) => {
      const id: string = req.params.id
      res.send(id)
    },
  )
  express4.Router().use(rateLimit({ limiter, partition: async () => ({ client: 'c', account: undefined }) }))
  expect(app).toBeDefined()
})

it('a plan is known from the plans or the limiter, else told per call', () => {
  const limits = [
    rateLimit({ plans, plan: 'gold' }),
    rateLimit({ plans, defaultPlan: 'free' }),
    rateLimit({ plans, plan: (req) => (req.get('x-plan') === undefined ? 'free' : 'gold') }),
    rateLimit({ limiter: planned, plan: 'free' }),
    rateLimit({ limiter: planned, plan: async (req) => String(req.get('x-plan')) }),
  ]
  expect(limits).toHaveLength(5)
})

it('makes mistakes errors of the compiler', () => {
  const mistakes = [
    // @ts-expect-error a kind that no policy counts
    () => rateLimit({ limiter, partition: () => ({ client: 'c', acount: 'a' }) }),
    // @ts-expect-error a kind left out
    () => rateLimit({ limiter, partition: () => ({ client: 'c' }) }),
    // @ts-expect-error nothing said of the account
    () => rateLimit({ limiter }),
    // @ts-expect-error nothing said of the account
    () => rateLimit({ policies: [byClient, byAccount] }),
    // @ts-expect-error one text where two kinds are counted
    () => rateLimit({ limiter, partition: () => 'c' }),
    // @ts-expect-error a kind that these policies do not count
    () => rateLimit({ policies: [byAccount], partition: () => ({ client: 'c' }) }),
    // @ts-expect-error not a text
    () => rateLimit({ policies: [byClient], partition: () => 42 }),
    // @ts-expect-error a policy that is not there
    () => rateLimit({ policies: [byClient], cost: { brust: 1 } }),
    // @ts-expect-error a policy that is not there
    () => rateLimit({ policies: [byClient], cost: () => ({ brust: 1 }) }),
    // @ts-expect-error a policy that is not there
    () => rateLimit({ policies: [byClient], onDenied: (...[, , , d]) => isRefusedBy(d, 'brust') }),
    // @ts-expect-error both
    () => rateLimit({ limiter, policies: [byClient] }),
    // @ts-expect-error the limiter has a store already
    () => rateLimit({ limiter, store: limiter }),
    // @ts-expect-error no such draft
    () => rateLimit({ policies: [byClient], headers: { draft: 8 } }),
    // @ts-expect-error no such mode
    () => rateLimit({ policies: [byClient], missingPartition: 'ignore' }),
    // @ts-expect-error a plan that there is not
    () => rateLimit({ plans, plan: 'gld' }),
    // @ts-expect-error no plan at all
    () => rateLimit({ plans }),
    // @ts-expect-error a plan where there are none
    () => rateLimit({ policies: [byClient], plan: 'gold' }),
    // @ts-expect-error a plan that the limiter has not
    () => rateLimit({ limiter: planned, plan: 'gld' }),
    // @ts-expect-error a plan of a limiter without plans
    () => rateLimit({ limiter: planless, plan: 'gold' }),
  ]
  expect(mistakes).toHaveLength(19)
})
