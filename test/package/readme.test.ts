import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { transform } from 'esbuild'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startRedis } from '../redis.js'
import { createProject, type Project, packageNames } from './project.js'

const root = new URL('../../', import.meta.url).pathname
const readme = readFileSync(join(root, 'README.md'), 'utf8')

let project: Project
beforeAll(() => {
  const peers = ['express@5.3.0', 'ioredis@5.11.1', 'msw@2.15.0', 'vite@8.3.8', 'vitest@4.1.12']
  project = createProject(packageNames, peers)
})
afterAll(() => project?.remove())

/** The snippet that the README shows as a file of examples/. */
function snippet(name: string): string {
  const text = new RegExp(`<!-- examples/${name} -->\\n\`\`\`ts\\n(.*?)\`\`\`\\n`, 's').exec(readme)?.[1]
  if (text === undefined) throw new Error(`The README does not show ${name}`)
  return text
}

async function writeProgram(name: string, source: string): Promise<void> {
  project.write(name, (await transform(source, { loader: 'ts' })).code)
}

/** Starts a program, stopped when the test ends, and waits for the address that it prints. */
async function startServer(program: string, env: NodeJS.ProcessEnv): Promise<string> {
  const server = spawn(process.execPath, [program], {
    cwd: project.folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => stop(server))
  for await (const line of createInterface({ input: server.stdout })) {
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0]
    if (address !== undefined) return address
  }
  throw new Error('The server ended before it listened')
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  server.kill()
  await once(server, 'exit')
}

describe('from an empty folder, with the packed packages alone', () => {
  // To the end of the call, on one line or on several.
  const listens = /app\.listen\((.*\{\n( {2}.*\n)+\}\)|.*)/
  // On whichever port is free, where a README says 3000.
  const anyPort = `const listening = app.listen(0, '127.0.0.1', () => {
    console.log('http://127.0.0.1:' + listening.address().port)
  })`

  test.each(['memory', 'Redis'])(
    'the README’s client paces itself against its server, which counts in %s',
    async (counts) => {
      const redis = counts === 'Redis' ? await startRedis() : undefined
      onTestFinished(() => redis?.stop())
      const server = snippet('server.ts')
      expect(server).toMatch(listens)
      await writeProgram('server.js', server.replace(listens, anyPort))
      const address = await startServer(
        'server.js',
        redis ? { REDIS_URL: `redis://127.0.0.1:${redis.port}` } : {},
      )
      const client = snippet('client.ts')
      expect(client).toContain('http://127.0.0.1:3000')
      await writeProgram('client.js', client.replace('http://127.0.0.1:3000', address))
      expect(project.node('client.js')).toEqual(
        expect.objectContaining({ status: 0, stdout: '100 of 100 orders placed\n', stderr: '' }),
      )
      const { headers } = await fetch(`${address}/orders`, { method: 'POST' })
      expect(headers.get('ratelimit-policy')).toContain('"burst";q=20;w=1')
      if (redis) expect(await redis.client().dbsize()).toBeGreaterThan(0)
    },
  )

  test('the README’s contract test passes', () => {
    project.write('contract.test.ts', snippet('contract.test.ts'))
    const { status, stdout } = project.node('node_modules/vitest/vitest.mjs', 'run', '--no-color')
    expect(stdout).toMatch(/Tests\s+1 passed/)
    expect(status).toBe(0)
  })

  test('the server’s README starts with a server that runs', async () => {
    const text = readFileSync(join(root, 'packages/server/README.md'), 'utf8')
    const first = /```js\n(.*?)```/s.exec(text)?.[1] ?? ''
    expect(first).toMatch(listens)
    await writeProgram('first.js', first.replace(listens, anyPort))
    const { headers } = await fetch(`${await startServer('first.js', {})}/orders`)
    expect(headers.get('ratelimit')).toContain('"burst";r=99')
  })
})
