import { createFetch } from '@ratepact/client'
import { fixedWindow, type Policy, tokenBucket } from '@ratepact/server'
import { type LimitedApiOptions, limitedApi, testClock } from '@ratepact/testing'

// A fleet of client processes that share one quota and do not know of each other, each with 40 calls to make. Time is
// a test's, so that the minutes which they take pass in seconds.
async function fleet(
  policy: Policy,
  processes: number,
  help: Pick<LimitedApiOptions, 'hold' | 'countInstances'>,
) {
  const clock = testClock()
  const api = limitedApi({
    policies: [policy],
    clock,
    latencySeconds: 0.06,
    partition: () => 'fleet',
    ...help,
  })
  const calls = Array.from({ length: processes }, async (_, n) => {
    const call = createFetch({ fetch: api.fetch, clock, maxAttempts: 50, maxWaitSeconds: 600 })
    const headers = { 'Ratepact-Instance': n.toString(16).padStart(16, '0') }
    await Promise.all(Array.from({ length: 40 }, () => call('https://api.example/orders', { headers })))
  })
  await clock.runUntil(Promise.all(calls))
  const { received, refused } = api.counts()
  return `${((100 * refused) / received).toFixed(1)} % refused, done in ${(clock.now() / 1000).toFixed(0)} s`
}

const policies = {
  'bucket of 10, 10 a second': tokenBucket({ name: 'api', capacity: 10, refillPerSecond: 10 }),
  'window of 10 a second': fixedWindow({ name: 'api', quota: 10, windowSeconds: 1 }),
}
const helps = [{}, { hold: 1 }, { countInstances: true }, { hold: 1, countInstances: true }]

for (const [name, policy] of Object.entries(policies))
  for (const processes of [5, 20])
    for (const help of helps)
      console.log(
        `${name}, ${processes} processes, ${JSON.stringify(help)}: ${await fleet(policy, processes, help)}`,
      )
