import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../redis.js'
import { startCluster, type TestCluster } from './cluster.js'
import { exitOf } from './exit.js'

let cluster: TestCluster
beforeAll(async () => {
  cluster = await startCluster()
})
afterAll(() => cluster.stop())

describe('a process ends by itself with a limiter left open', { timeout: 60_000 }, () => {
  it.each(['cluster', 'node-redis cluster'])('on a %s', async (way) => {
    expect(await exitOf(way, ...cluster.addresses.map(({ port }) => port))).toEqual([0, null])
  })

  it.each(['cluster', 'node-redis', 'node-redis cluster', 'sentinel'])(
    'on a %s that is not there',
    async (way) => {
      expect(await exitOf(way, await freePort(), await freePort())).toEqual([0, null])
    },
  )
})
