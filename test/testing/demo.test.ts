import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseRateLimit } from '@ratepact/contract'
import { expect, onTestFinished, test } from 'vitest'

const root = new URL('../..', import.meta.url).pathname

interface Run {
  readonly process: ChildProcess
  readonly out: () => string
  readonly err: () => string
  readonly status: Promise<number | null>
}

/** What `npm run demo -- <args>` runs. */
function demo(args: readonly string[], env: Record<string, string | undefined> = {}): Run {
  const command = ['--import', 'tsx', '--conditions=@ratepact/source', 'examples/demo.ts', ...args]
  const child = spawn(process.execPath, command, { cwd: root, env: { ...process.env, ...env } })
  const texts = { out: '', err: '' }
  child.stdout.on('data', (data) => {
    texts.out += data
  })
  child.stderr.on('data', (data) => {
    texts.err += data
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const status = once(child, 'close').then(([code]) => code as number | null)
  return { process: child, out: () => texts.out, err: () => texts.err, status }
}

/** A PATH on which there is nothing but node. */
async function bareEnvironment(): Promise<Record<string, string | undefined>> {
  const folder = await mkdtemp(join(tmpdir(), 'ratepact-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await symlink(process.execPath, join(folder, 'node'))
  return { PATH: folder, REDIS_URL: undefined }
}

test('the demo ends by itself: both clients complete every call, and far fewer of the paced one are refused', {
  timeout: 120_000,
}, async () => {
  const { status, out } = demo(['--json'])
  expect(await status).toBe(0)
  const figures = JSON.parse(out())
  expect(Object.keys(figures)).toEqual(['store', 'idealSeconds', 'clients'])
  expect(['memory', 'redis']).toContain(figures.store)
  expect(figures.idealSeconds).toBe(5.6)
  const [plain, paced] = figures.clients
  expect(Object.keys(plain)).toEqual(['name', 'calls', 'completed', 'refused', 'sends', 'seconds', 'ratio'])
  expect(plain).toMatchObject({ name: 'fetch', calls: 300, completed: 300 })
  expect(plain.refused).toBeGreaterThan(0)
  expect(plain.sends).toBe(300 + plain.refused)
  // None at all on a machine that is not overloaded: contract.test.ts shows it on a clock. Where the API's process
  // stands still for longer than a bucket lasts, even paced calls are counted all at once.
  expect(paced).toMatchObject({ name: 'ratepact', calls: 300, completed: 300 })
  expect(paced.refused).toBeLessThan(plain.refused / 2)
  expect(paced.sends).toBe(300 + paced.refused)
  // Nobody is done before the ideal: less would mean that the limit did not hold.
  for (const { seconds, ratio } of figures.clients) {
    expect(seconds).toBeGreaterThan(5.5)
    expect(ratio).toBeCloseTo(seconds / 5.6, 2)
  }
})

test('the demo keeps the API up when asked, counts in memory without a Redis, and ends at Ctrl-C', {
  timeout: 60_000,
}, async () => {
  const { process: child, status, out } = demo(['--serve'], await bareEnvironment())
  await Promise.race([expect.poll(out, { timeout: 50_000 }).toContain('curl'), status])
  expect(out()).toContain('counts in memory: REDIS_URL is not set and there is no redis-server on the PATH')
  const url = /http:\S+\/orders/.exec(out())?.[0] ?? ''
  const response = await fetch(url, { method: 'POST', headers: { 'x-api-key': 'me' } })
  expect(response.status).toBe(201)
  expect(parseRateLimit(response.headers.get('ratelimit'))).toMatchObject({
    items: [{ policy: 'burst', available: 19 }],
  })
  child.kill('SIGINT')
  expect(await status).toBe(0)
  await expect(fetch(url, { method: 'POST' })).rejects.toThrow('fetch failed')
})

test('the demo says so when REDIS_URL leads nowhere', { timeout: 60_000 }, async () => {
  const { status, out, err } = demo(['--json'], { REDIS_URL: 'redis://127.0.0.1:1' })
  expect(await status).toBe(1)
  expect(out()).toBe('')
  expect(err()).toContain('No Redis answers (Redis, the one in REDIS_URL): connect ECONNREFUSED 127.0.0.1:1')
})

test.each([
  { args: ['--jsn'], why: "Unknown option '--jsn'" },
  { args: ['--json', '--serve'], why: 'Expected one of --json, --serve' },
])('the demo answers $args with its usage', { timeout: 60_000 }, async ({ args, why }) => {
  const { status, out, err } = demo(args)
  expect(await status).toBe(2)
  expect(out()).toBe('')
  expect(err()).toContain(why)
  expect(err()).toContain('Usage: npm run demo [-- --json | --serve]')
})
