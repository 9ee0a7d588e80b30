import { Redis } from 'ioredis'
import { it, onTestFinished } from 'vitest'
import { until } from '../../wait.js'
import type { Fault } from './faults.js'
import { watchAll } from './ground.js'
import { MASTER_NAME, startSentinel, type TestSentinel } from './sentinel.js'
import { suffer } from './suffer.js'

const failover: Fault<TestSentinel> = {
  name: 'failover by Sentinel: the master killed',
  is: 'outage',
  reasons: ['disconnected', 'timeout', 'unready'],
  // What the replica had not been told yet is lost.
  forgets: true,
  healsItself: true,
  strike: ({ master }) => master.signal('SIGKILL'),
  mend: (sentinel) =>
    until(
      'the replica has taken over',
      async () => (await sentinel.masterPort()) === sentinel.replica.port,
      30_000,
    ),
}

it(failover.name, { timeout: 90_000 }, async () => {
  const sentinel = await startSentinel()
  onTestFinished(() => sentinel.stop())
  const clientOf = () => {
    const client = new Redis({
      sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
      name: MASTER_NAME,
      lazyConnect: true,
    })
    client.on('error', () => {})
    return client
  }
  await suffer(failover, sentinel, await watchAll(clientOf, failover))
})
