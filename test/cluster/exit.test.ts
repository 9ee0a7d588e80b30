import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
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

  const ways = ['cluster', 'node-redis', 'node-redis cluster', 'sentinel']
  const endsOf = async (...ports: readonly number[]) =>
    Object.fromEntries(await Promise.all(ways.map(async (way) => [way, await exitOf(way, ...ports)])))
  const well = Object.fromEntries(ways.map((way) => [way, [0, null]]))

  it('on whatever is not there', async () => {
    expect(await endsOf(await freePort(), await freePort())).toEqual(well)
  })

  it('on whatever accepts connections and never answers', async () => {
    const silent = Array.from({ length: 3 }, () => createServer().listen(0, '127.0.0.1'))
    onTestFinished(() => {
      for (const server of silent) server.close()
    })
    await Promise.all(silent.map((server) => once(server, 'listening')))
    expect(await endsOf(...silent.map((server) => (server.address() as AddressInfo).port))).toEqual(well)
  })
})
