import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const source = join(root, 'packages/contract/src')
const built = mkdtempSync(join(tmpdir(), 'contract-'))

afterAll(() => rmSync(built, { recursive: true, force: true }))

function tsc(...args: string[]): string {
  return execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...args], {
    cwd: built,
    encoding: 'utf8',
  })
}

test('one file alone knows structured-headers, and none knows Node', () => {
  const sources = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  expect(sources).toContain(join('legacy', 'format.ts'))
  const importing = (pattern: RegExp) =>
    sources.filter((name) => pattern.test(readFileSync(join(source, name), 'utf8')))
  expect(importing(/from 'structured-headers'/)).toEqual(['structured-field.ts'])
  expect(importing(/from 'node:/)).toEqual([])
})

test('its declarations name no type of structured-headers and compile without the DOM or Node', {
  timeout: 60_000,
}, () => {
  tsc('-p', join(root, 'packages/contract/tsconfig.build.json'), '--outDir', built)
  const declarations = readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.d.ts'),
  )
  expect(declarations).toContain('index.d.ts')
  for (const name of declarations)
    expect(readFileSync(join(built, name), 'utf8')).not.toMatch(/structured-headers/)
  writeFileSync(join(built, 'package.json'), '{ "type": "module" }')
  writeFileSync(
    join(built, 'consumer.ts'),
    `import { type FieldResult, formatRateLimit, parseRateLimit, readRateLimitFields, type ServiceLimit } from './index.js'
     const headers: Record<string, string | string[] | undefined> = {}
     if (readRateLimitFields((name) => headers[name]).dialect === undefined) {}
     const result: FieldResult<ServiceLimit> = parseRateLimit('"a";r=1')
     if (result.status === 'ok') formatRateLimit(result.items)
    `,
  )
  const consumer = [
    'consumer.ts',
    '--noEmit',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--skipLibCheck',
    'false',
  ]
  expect(
    tsc(...consumer, '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022', '--types', ''),
  ).toBe('')
})
