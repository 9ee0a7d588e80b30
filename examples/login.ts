// A login that cannot be guessed at: tries are counted by account and by address, only those that fail, and what is
// answered never tells whether there is such an account. Without its store nobody logs in.
import { createHash } from 'node:crypto'
import {
  clientAddress,
  createLimiter,
  fixedWindow,
  memoryStore,
  type Store,
  tokenBucket,
} from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import express, { type Express, type Request } from 'express'

type Check = (name: string, password: string) => Promise<boolean>

/** One account, however its name is spelled, and no name in a key. */
const account = (req: Request): string =>
  createHash('sha256')
    .update(String(req.body?.name).normalize('NFKC').trim().toLowerCase())
    .digest('base64url')

export function loginApp(check: Check, store: Store = memoryStore()): Express {
  const limiter = createLimiter({
    store,
    onStoreFailure: 'closed',
    policies: [
      tokenBucket({ name: 'account', capacity: 5, refillPerSecond: 1 / 60, by: 'account' }),
      fixedWindow({ name: 'address', quota: 100, windowSeconds: 3600 }),
    ],
  })
  const app = express()
  app.post(
    '/login',
    express.json({ limit: '1kb' }),
    rateLimit({
      limiter,
      partition: (req: Request) => ({ client: clientAddress(req), account: account(req) }),
      chargeWhen: 'failed',
      // What is left would tell a guesser how far to go.
      headers: false,
    }),
    async (req, res) => {
      const { name, password } = req.body ?? {}
      if (await check(String(name), String(password))) res.json({ welcome: true })
      else res.status(401).json({ error: 'Wrong name or password.' })
    },
  )
  return app
}
