import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const readme = readFileSync(new URL('../../packages/testing/README.md', import.meta.url), 'utf8')
const snippets = Array.from(readme.matchAll(/^```ts\n(.*?)^```$/gms), (match) => match[1] ?? '')

test('the README’s snippets are one program that runs, and gives what they say', async () => {
  // Beside this file, so that the packages are found by their names.
  const directory = mkdtempSync(join(import.meta.dirname, '.readme-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'program.ts')
  const claims = snippets.join('\n').replace(/^(.+)\n\/\/ → (.+)$/gm, 'export const pair = [$1, $2]')
  writeFileSync(file, `${claims}\nexport { server }\n`)
  const { pair, server } = await import(pathToFileURL(file).href)
  onTestFinished(() => server.close())
  expect(snippets).toHaveLength(2)
  expect(pair[0]).toEqual(pair[1])
  expect((await fetch('https://api.example/orders')).headers.get('ratelimit')).toContain('"burst";r=')
})
