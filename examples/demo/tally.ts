import type { NextFunction, Request, Response } from 'express'

/** What the API saw of one client. */
export interface Counts {
  readonly sends: number
  readonly completed: number
  readonly refused: number
}

const none: Counts = { sends: 0, completed: 0, refused: 0 }

/** Counts requests and answers by API key, as they pass the server. */
export function createTally(): {
  readonly watch: (req: Request, res: Response, next: NextFunction) => void
  readonly of: (key: string) => Counts
} {
  const byKey = new Map<string, Counts>()
  const of = (key: string): Counts => byKey.get(key) ?? none
  return {
    of,
    watch(req, res, next) {
      const key = req.get('x-api-key')
      if (key !== undefined) {
        byKey.set(key, { ...of(key), sends: of(key).sends + 1 })
        res.once('finish', () => {
          const { sends, completed, refused } = of(key)
          const ok = res.statusCode < 300 ? 1 : 0
          const limited = res.statusCode === 429 ? 1 : 0
          byKey.set(key, { sends, completed: completed + ok, refused: refused + limited })
        })
      }
      next()
    },
  }
}
