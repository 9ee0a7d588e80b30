// Tokens of a language model: what an answer may take at most is reserved before it is made, and what it has taken is
// put in its place afterwards. So many at once cannot take more than there is, and nobody pays for what was not written.
import { createLimiter, memoryStore, type Store, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import express, { type Express, type Request, type Response } from 'express'

type Complete = (prompt: string, maxTokens: number) => Promise<{ text: string; tokens: number }>

const LONGEST = 4_000
const asked = (req: Request): number => {
  const tokens = Number(req.body?.maxTokens ?? 500)
  return Number.isInteger(tokens) && tokens > 0 ? Math.min(tokens, LONGEST) : 500
}

export function modelApp(complete: Complete, store: Store = memoryStore()): Express {
  const limiter = createLimiter({
    store,
    policies: [
      tokenBucket({ name: 'tokens', capacity: 10_000, refillPerSecond: 100, unit: 'tokens' }),
      tokenBucket({ name: 'calls', capacity: 20, refillPerSecond: 1 }),
    ],
  })
  const app = express()
  app.post(
    '/complete',
    express.json(),
    rateLimit({
      limiter,
      // Whom authentication before this has found: a key that nobody has checked may be made up anew for each call.
      partition: (_req: Request, res: Response) => res.locals.clientId && `id:${res.locals.clientId}`,
      missingPartition: 'address',
      cost: (req: Request) => ({ tokens: asked(req) }),
      // Where the model failed it was for nothing. Who hangs up before there is an answer pays what was reserved: the
      // model goes on writing.
      settle: ({ status }, _req, res: Response) =>
        status === undefined ? undefined : { tokens: res.locals.tokens ?? 0 },
    }),
    async (req, res) => {
      const { text, tokens } = await complete(String(req.body?.prompt), asked(req))
      res.locals.tokens = tokens
      res.json({ text, tokens })
    },
  )
  return app
}
