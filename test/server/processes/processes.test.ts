import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, startRedis, type TestRedis } from '../../redis.js'

let server: TestRedis
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

function run(file: string, ...args: string[]): ChildProcess {
  const path = fileURLToPath(new URL(file, import.meta.url))
  return spawn(process.execPath, ['--import', 'tsx', '--conditions=@ratepact/source', path, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

/** Starts workers, lets them go at once, and adds up what was admitted. */
async function admittedBy(workers: number, calls: number, way: string): Promise<number> {
  await server.client().flushall()
  const children = Array.from({ length: workers }, () =>
    run('worker.ts', String(server.port), String(calls), way),
  )
  const lines = children.map((child) =>
    createInterface({ input: child.stdout as never })[Symbol.asyncIterator](),
  )
  const next = () => Promise.all(lines.map(async (line) => String((await line.next()).value)))
  expect(await next()).toEqual(children.map(() => 'ready'))
  for (const child of children) child.stdin?.write('go\n')
  const counts = await next()
  await Promise.all(children.map((child) => (child.exitCode === null ? once(child, 'exit') : undefined)))
  expect(children.map(({ exitCode }) => exitCode)).toEqual(children.map(() => 0))
  return counts.reduce((sum, count) => sum + Number(count), 0)
}

describe('4 processes that make 250 calls each at once on one key of 100 units', { timeout: 60_000 }, () => {
  it('are admitted exactly 100 times', async () => {
    expect(await admittedBy(4, 250, 'limiter')).toBe(100)
  })

  it('are admitted more often by reading and then writing, which is what this test is there to catch', async () => {
    expect(await admittedBy(4, 250, 'get-then-set')).toBeGreaterThan(100)
  })
})

describe('a process', { timeout: 60_000 }, () => {
  it.each(['up', 'down', 'stopped', 'closed', 'closed under calls'])(
    'ends by itself with a limiter left open, Redis being %s',
    async (state) => {
      const own = await startRedis()
      try {
        const port = state === 'down' ? await freePort() : own.port
        if (state === 'stopped') own.signal('SIGSTOP')
        const child = run('idle.ts', String(port), state)
        const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
        expect([code, signal]).toEqual([0, null])
      } finally {
        await own.stop()
      }
    },
  )
})
