import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createLimiter, fixedWindow } from '@ratepact/server'
import { scopeOf } from '@ratepact/server/fetch'
import { Hono } from 'hono'
import { expect, it, onTestFinished } from 'vitest'
import { honoApp } from '../../../examples/adapters/hono.js'
import { askHttp1 } from '../adapters/ask.js'

it('an app of Hono counts each route by its pattern, whatever stands around it', async () => {
  const limiter = createLimiter({
    policies: [fixedWindow({ name: 'route', quota: 100, windowSeconds: 3600, perScope: true })],
  })
  const app = honoApp(limiter)
  const inner = new Hono()
  inner.use(async (_c, next) => next())
  inner.get('/users/:id', (c) => c.text('user'))
  app.get('/cheap/:id', (c) => c.text('cheap'))
  app.route('/teams/:team', inner)
  app.all('/any', (c) => c.text('any'))
  app.all('/files/*', (c) => c.text('file'))
  app.get('/*', (c) => c.text('whatever is left'))
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  const ask = askHttp1((server.address() as AddressInfo).port)

  const used = async (path: string, method = 'GET') =>
    100 - Number(/;r=(\d+)/.exec((await ask(path, { method })).headers.ratelimit ?? '')?.[1])
  const scopes: readonly (readonly [string, string?])[][] = [
    [['/orders'], ['/orders?x=1'], ['/orders', 'HEAD']],
    [['/cheap/1'], ['/cheap/2'], ['/cheap/1', 'HEAD']],
    [['/teams/a/users/1'], ['/teams/b/users/2']],
    [['/any'], ['/any', 'HEAD']],
    [['/any', 'POST']],
    [
      ['/any', 'PURGE'],
      ['/any', 'PROPFIND'],
    ],
    [['/files/a'], ['/files/b/c']],
    [['/none'], ['/nor/this'], ['/']],
  ]
  for (const calls of scopes) {
    const counts: number[] = []
    for (const [path, method] of calls) counts.push(await used(path, method))
    expect([calls, counts]).toEqual([calls, calls.map((_, i) => i + 1)])
  }
})

it('methods that are not known are one scope, whatever a platform lets in', () => {
  const methods = ['M1', 'toString', '', undefined]
  expect(new Set(methods.map((method) => scopeOf(method, '/a/:b')))).toEqual(new Set(['* /a/:b']))
  expect([scopeOf('HEAD', '/a'), scopeOf('get', '/a'), scopeOf('POST', '')]).toEqual([
    'GET /a',
    'GET /a',
    'POST /',
  ])
})
