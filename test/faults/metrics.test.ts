import { createLimiter, tokenBucket } from '@ratepact/server'
import { prometheusMetrics } from '@ratepact/server/prometheus'
import { redisStore } from '@ratepact/server/redis'
import { Registry } from 'prom-client'
import { expect, it, onTestFinished } from 'vitest'
import { startRedis } from '../redis.js'
import { exposed } from '../server/metrics/scrape.js'
import { until } from '../wait.js'

it('metrics tell of a Redis that dies and comes back: each call, each failure, the breaker', async () => {
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  const register = new Registry()
  const limiter = createLimiter({
    policies: [tokenBucket({ name: 'burst', capacity: 1000, refillPerSecond: 1 })],
    store: redisStore(redis.client()),
    metrics: prometheusMetrics({ register }),
  })
  onTestFinished(() => limiter.close())
  const scrape = await exposed(register)
  const breaker = async () => (await scrape()).value('rate_limit_breaker_open')
  let calls = 0
  const call = async () => {
    calls += 1
    return (await limiter.consume('a')).source
  }

  await until('Redis counts', async () => (await call()) === 'store')
  redis.signal('SIGKILL')
  await until('the breaker is open', async () => {
    await call()
    return (await breaker()) === 1
  })
  await redis.restart()
  await until('Redis counts again', async () => (await call()) === 'store')

  expect(await breaker()).toBe(0)
  const { all, value } = await scrape()
  const sum = (name: string) => all(name).reduce((total, [, count]) => total + count, 0)
  const unchecked = value('rate_limit_requests_allowed_total', { outcome: 'unchecked' })
  expect(unchecked).toBeGreaterThanOrEqual(3)
  expect(sum('rate_limit_store_failures_total')).toBe(unchecked)
  expect(sum('rate_limit_requests_allowed_total')).toBe(calls)
  expect(sum('rate_limit_check_duration_seconds_count')).toBe(calls)
})
