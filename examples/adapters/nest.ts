import 'reflect-metadata'
import { Controller, Get, type INestApplication, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Limiter } from '@ratepact/server'
import { rateLimitModule } from '@ratepact/server/nest'

@Controller('orders')
class Orders {
  @Get()
  list(): readonly string[] {
    return []
  }
}

export async function nestApp(limiter: Limiter<string, 'client'>): Promise<INestApplication> {
  @Module({ imports: [rateLimitModule({ limiter })], controllers: [Orders] })
  class App {}
  return NestFactory.create(App, { logger: false })
}
