import { concurrency, createLimiter, fixedWindow, type ShadowResult, tokenBucket } from '@ratepact/server'
import { redisStore } from '@ratepact/server/redis'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { until } from '../wait.js'
import { startCluster, type TestCluster } from './cluster.js'

let cluster: TestCluster
beforeAll(async () => {
  cluster = await startCluster()
})
beforeEach(() => cluster.flush())
afterAll(() => cluster.stop())

const live = tokenBucket({ name: 'live', capacity: 3, refillPerSecond: 1e-6 })
const team = fixedWindow({ name: 'team', quota: 5, windowSeconds: 86_400 * 30, by: 'account' })

function open(timeoutMs = 20_000) {
  const client = new Cluster([...cluster.addresses], { lazyConnect: true })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  const limiter = createLimiter({
    policies: [live],
    candidate: [team, concurrency({ name: 'running', limit: 9, leaseSeconds: 60 })],
    store: redisStore(client, { timeoutMs }),
    onStoreFailure: 'closed',
  })
  onTestFinished(() => limiter.close())
  return limiter
}

const left = ([result]: readonly ShadowResult[]) => result?.limits.map(({ available }) => available)

it('what is tried in other slots than the call is judged and charged beside it', async () => {
  const limiter = open()
  const who = { client: 'a', account: 'x' }
  const decisions = []
  for (let i = 0; i < 6; i += 1) decisions.push(await limiter.consume(who))
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false, false])
  // A call that is refused takes no place.
  expect(decisions.map(({ shadow }) => left(shadow))).toEqual([
    [4, 8],
    [3, 7],
    [2, 6],
    [1, 6],
    [0, 6],
    [0, 6],
  ])
  const [first] = decisions
  if (first === undefined) throw new Error('no decision')
  expect(await limiter.refund(first)).toBe(true)
  expect(left((await limiter.peek(who, { cost: { team: 0, running: 0 } })).shadow)).toEqual([1, 7])
})

it('a node that only what is tried needs does the call no harm when it is gone', async () => {
  const limiter = open(1000)
  const [client, account] = await apart()
  await until(
    'the nodes are known',
    async () => (await limiter.peek({ client, account })).shadow.length === 1,
  )
  const node = await cluster.ownerOf(await cluster.slotOf(`{account:${account}}`))
  node.server.signal('SIGSTOP')
  onTestFinished(() => node.server.signal('SIGCONT'))
  for (let i = 0; i < 3; i += 1)
    expect(await limiter.consume({ client, account })).toMatchObject({ outcome: 'admitted', shadow: [] })
  expect(await limiter.consume({ client, account })).toMatchObject({ outcome: 'refused', shadow: [] })
})

/** A client and an account that live on different nodes. */
async function apart(): Promise<readonly [client: string, account: string]> {
  const owner = async (key: string) => (await cluster.ownerOf(await cluster.slotOf(key))).id
  for (let i = 0; i < 100; i += 1)
    if ((await owner('{client:a}')) !== (await owner(`{account:${i}}`))) return ['a', String(i)]
  throw new Error('all of them live on one node')
}
