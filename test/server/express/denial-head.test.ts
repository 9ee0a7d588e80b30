import { readProblem } from '@ratepact/contract'
import { fixedWindow, tokenBucket } from '@ratepact/server'
import { rateLimit } from '@ratepact/server/express'
import type { Request, Response } from 'express'
import { describe, expect, it } from 'vitest'
import { handStore, majors, serve } from './helper.js'

const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })
type Fields = Readonly<Record<string, string | string[]>>

describe.each(majors)('The head of a refusal on %s', (_, express) => {
  /** The app has set these fields before it limits. */
  async function start(fields: Fields, options: object = {}) {
    const app = express()
    app.disable('x-powered-by')
    app.use((_req, res, next) => {
      for (const [name, value] of Object.entries(fields)) res.setHeader(name, value)
      next()
    })
    app.use(rateLimit({ policies: [one], store: handStore().store, ...options } as never))
    app.get('/', (_req, res) => void res.end('handled'))
    return serve(app)
  }

  describe('that the user passes on', () => {
    const onDenied = (_req: Request, _res: Response, next: () => void) => next()

    it.each<[string, Fields]>([
      ['a Cache-Control', { 'Cache-Control': 'private, max-age=60' }],
      ['the same Cache-Control', { 'Cache-Control': 'no-store' }],
      ['a shorter wait', { 'Retry-After': '1', 'retry-after-ms': '700' }],
      ['a longer wait', { 'Retry-After': '3600', 'retry-after-ms': '3599500' }],
      ['several lines', { 'Cache-Control': ['private', 'max-age=60'] }],
    ])('is what it was before: %s', async (_what, fields) => {
      const { ask } = await start(fields, { onDenied, headers: false })
      const [admitted, passedOn] = [await ask('/'), await ask('/')]
      expect([passedOn.status, passedOn.body]).toEqual([200, 'handled'])
      expect([...passedOn.raw].sort()).toEqual([...admitted.raw].sort())
      for (const [name, value] of Object.entries(fields))
        expect(passedOn.headers[name.toLowerCase()]).toBe([value].flat().join(', '))
    })

    it('keeps what the user has put there', async () => {
      const { ask } = await start(
        { 'Cache-Control': 'private' },
        {
          onDenied: (_req: Request, res: Response, next: () => void) => {
            res.status(203).set('Cache-Control', 'max-age=1')
            next()
          },
        },
      )
      await ask('/')
      const answer = await ask('/')
      expect([answer.status, answer.headers['cache-control']]).toEqual([203, 'max-age=1'])
      expect(answer.headers['retry-after']).toBeUndefined()
    })
  })

  it('has nothing in it of a body that somebody else has announced', async () => {
    const announced = {
      'Transfer-Encoding': 'chunked',
      Trailer: 'Digest',
      'Content-Encoding': 'gzip',
      'Content-Language': 'de',
      'Content-Location': '/report.csv',
      'Content-Disposition': 'attachment; filename="report.csv"',
      'Content-Range': 'bytes 0-9/100',
      'Accept-Ranges': 'bytes',
      'Content-Digest': 'sha-256=:AAAA:',
      'Repr-Digest': 'sha-256=:AAAA:',
      Digest: 'sha-256=AAAA',
      'Content-MD5': 'AAAA',
      ETag: '"1"',
      'Last-Modified': 'Sun, 06 Nov 1994 08:49:37 GMT',
      Expires: 'Sun, 06 Nov 2094 08:49:37 GMT',
      Age: '10',
      'CDN-Cache-Control': 'max-age=600',
      'Surrogate-Control': 'max-age=600',
    }
    const kept = {
      'Set-Cookie': ['a=1', 'b=2'],
      Vary: 'Accept',
      'Content-Security-Policy': "default-src 'none'",
    }
    const { ask, port } = await start({
      ...announced,
      ...kept,
      'Content-Type': 'text/csv',
    })
    await ask('/').catch(() => {})
    const answer = await ask('/')
    expect(answer.status).toBe(429)
    for (const name of Object.keys(announced)) expect(answer.headers[name.toLowerCase()]).toBeUndefined()
    expect(answer.headers['set-cookie']).toEqual(kept['Set-Cookie'])
    expect(answer.headers.vary).toBe('Accept')
    expect(answer.headers['content-security-policy']).toBe("default-src 'none'")
    expect(answer.headers['content-length']).toBe(String(answer.body.length))
    expect(readProblem(answer.headers['content-type'], answer.body)?.type).toBe('quota-exceeded')
    // What decodes bodies meets JSON as it is.
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).json()).toMatchObject({ status: 429 })
  })

  it('has no exact wait left of a shorter one', async () => {
    const daily = fixedWindow({ name: 'daily', quota: 1, windowSeconds: 86_400 })
    const { ask } = await start(
      { 'Retry-After': '1', 'retry-after-ms': '700' },
      { policies: [daily], headers: { hints: false } },
    )
    await ask('/')
    const answer = await ask('/')
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(1)
    expect(answer.headers['retry-after-ms']).toBeUndefined()
  })
})
