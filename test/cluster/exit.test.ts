import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort, startRedis } from '../redis.js'
import { until } from '../wait.js'
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

  it('on a host that does not answer who wants to connect', async () => {
    const server = await startRedis({ config: ['--tcp-backlog', '1'] })
    onTestFinished(() => server.stop())
    server.signal('SIGSTOP')
    // So many wait to be accepted that further ones are not even heard.
    const waiting = Array.from({ length: 8 }, () => connect(server.port, '127.0.0.1').on('error', () => {}))
    onTestFinished(() => {
      for (const socket of waiting) socket.destroy()
    })
    await once(waiting[0] as Socket, 'connect')
    await until('one is not heard', () => waiting.some(({ connecting }) => connecting))
    expect(await endsOf(server.port)).toEqual(well)
  })
})
