import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scriptNames } from '../../packages/server/lua.js'
import * as shipped from '../../packages/server/src/redis/scripts.js'
import { startRedis, type TestRedis } from '../redis.js'

const run = promisify(execFile)
const path = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url))
const scripts = Object.entries(shipped)

let server: TestRedis
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

it('the embedded scripts are those of the folder, and fresh', async () => {
  expect(scripts.map(([name]) => name).sort()).toEqual(scriptNames())
  await run(process.execPath, [path('packages/server/lua.js'), '--check'])
})

it.each(scripts)('%s is accepted by Redis', async (_, source) => {
  expect(await server.client().script('LOAD', source)).toMatch(/^[0-9a-f]{40}$/)
})

it.each(scripts)('%s asks nobody but Redis for the time, and once', (_, source) => {
  expect(source.match(/redis\.call\('TIME'\)/g)).toHaveLength(1)
  expect(source).not.toMatch(/os\.|math\.random/)
  expect(source.match(/\btime\b/g)).toHaveLength(3)
})

it.each(scripts)('%s touches no key that it was not given', (_, source) => {
  const commands = [...source.matchAll(/\b(?:p?call|try)\('(\w+)'(?:, ([\w[\]]+))?/g)].map(
    ([, name, key]) => [name, key],
  )
  expect(
    commands
      .filter(([name]) => name !== 'TIME')
      .every(([, key]) => ['key', 'id', 'KEYS[i]'].includes(key ?? '')),
  ).toBe(true)
})

describe('each file in the folder', async () => {
  const files = (await readdir(path('lua'), { recursive: true })).filter((file) => file.endsWith('.lua'))
  it.each(files)('%s is valid by itself and says what it is for', async (file) => {
    const source = await readFile(path(`lua/${file}`), 'utf8')
    expect(source).toMatch(
      file.startsWith('includes')
        ? /^-- \S/
        : /^--\[\[\n {2}\S[\s\S]*\n {2}KEYS [\s\S]*\n {2}ARGV [\s\S]*\n {2}Returns /,
    )
    // An unknown name is an error only when it runs; here only the grammar counts.
    await expect(server.client().script('LOAD', `if false then\n${source}\nend`)).resolves.toBeTruthy()
  })
})
