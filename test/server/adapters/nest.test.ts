import 'reflect-metadata'
import { type ArgumentsHost, Controller, Get, HttpException, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js'
import { concurrency, createLimiter, type Limiter, tokenBucket } from '@ratepact/server'
import { rateLimitGuard, rateLimitModule } from '@ratepact/server/nest'
import { describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../wait.js'
import { handStore } from '../express/helper.js'

const one = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1 })

it('a filter of the application answers a refusal as it likes, in a type of its own', async () => {
  class Orders {
    list(): string {
      return 'done'
    }
  }
  Get()(Orders.prototype, 'list', Object.getOwnPropertyDescriptor(Orders.prototype, 'list') as never)
  Controller('/')(Orders)
  class App {}
  Module({
    controllers: [Orders],
    imports: [rateLimitModule({ policies: [one], store: handStore().store })],
  })(App)
  const app = await NestFactory.create(App, { logger: false })
  onTestFinished(() => app.close())
  app.useGlobalFilters({
    catch(error: HttpException, host: ArgumentsHost) {
      const response = host.switchToHttp().getResponse()
      response.status(error.getStatus()).json({ ...(error.getResponse() as object), path: '/' })
    },
  })
  await app.listen(0, '127.0.0.1')
  const url = await app.getUrl()
  await fetch(url)
  const answer = await fetch(url)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '10'])
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(await answer.json()).toMatchObject({
    title: 'Quota Exceeded',
    'violated-policies': ['one'],
    path: '/',
  })
})

describe('A call that is not HTTP', () => {
  class Chat {
    say(): void {}
    shout(): void {}
  }
  function called(name: 'say' | 'shout', client: unknown): ExecutionContextHost {
    const context = new ExecutionContextHost([client, 'a message'], Chat, Chat.prototype[name])
    context.setType('ws')
    return context
  }
  const partition = (request: object) => (request as { readonly user?: string }).user

  it('is counted for whom partition names, by its method, and refused with an exception that says for how long', async () => {
    const scoped = tokenBucket({ name: 'one', capacity: 1, refillPerSecond: 0.1, perScope: true })
    const guard = rateLimitGuard({ policies: [scoped], store: handStore().store, partition })
    const ann = { user: 'ann' }
    expect(await guard.canActivate(called('say', ann))).toBe(true)
    expect(await guard.canActivate(called('shout', ann))).toBe(true)
    expect(await guard.canActivate(called('say', { user: 'bob' }))).toBe(true)
    const refused = await guard.canActivate(called('say', ann)).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(HttpException)
    expect((refused as HttpException).getStatus()).toBe(429)
    expect((refused as HttpException).getResponse()).toMatchObject({ detail: 'Retry in 10 seconds.' })
  })

  it('fails where partition names nobody, since there is no address', async () => {
    const guard = rateLimitGuard({ policies: [one], partition, onWarning: () => {} })
    await expect(guard.canActivate(called('say', {}))).rejects.toMatchObject({ name: 'PartitionError' })
  })

  it('is left alone where skip says so, and whoever has no address with it', async () => {
    const guard = rateLimitGuard({
      policies: [one],
      skip: (_request, context) => context.getType() !== 'http',
    })
    for (let i = 0; i < 3; i += 1) expect(await guard.canActivate(called('say', {}))).toBe(true)
  })

  it('is counted by its context where there is nothing in place of a request, as at the root of GraphQL', async () => {
    const guard = rateLimitGuard({
      policies: [one],
      store: handStore().store,
      partition: (_request, context) => (context as ExecutionContextHost).getArgByIndex(2).user,
      onDenied: (_request, context, decision) => new Error(`${context.getType()} ${decision.outcome}`),
    })
    const context = new ExecutionContextHost([undefined, {}, { user: 'ann' }, {}], Chat, Chat.prototype.say)
    context.setType('graphql')
    expect(await guard.canActivate(context)).toBe(true)
    await expect(guard.canActivate(context)).rejects.toThrow(new Error('graphql refused'))
  })

  it('may be answered by an exception of the user', async () => {
    const guard = rateLimitGuard({ policies: [one], partition, onDenied: () => new TypeError('slow down') })
    await guard.canActivate(called('say', { user: 'ann' }))
    await expect(guard.canActivate(called('say', { user: 'ann' }))).rejects.toThrow(
      new TypeError('slow down'),
    )
  })

  it('holds its place until its lease ends, and keeps nothing alive', async () => {
    const policies = [concurrency({ name: 'running', limit: 1, leaseSeconds: 0.2 })] as const
    const limiter = createLimiter({ policies }) as Limiter<string, 'client'>
    const guard = rateLimitGuard({ limiter, partition })
    expect(await guard.canActivate(called('say', { user: 'ann' }))).toBe(true)
    expect((await limiter.peek('ann')).outcome).toBe('refused')
    await until('its place is free', async () => (await limiter.peek('ann')).outcome === 'admitted')
  })
})
