import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { describe, expect, inject, test } from 'vitest'
import { packageNames } from './project.js'

interface Manifest {
  readonly [field: string]: unknown
  readonly exports: Record<string, string | Record<string, string>>
  readonly dependencies: Record<string, string>
  readonly scripts: Record<string, string>
}

const root = new URL('../../', import.meta.url).pathname
const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js')

function filesOf(tarball: string): readonly string[] {
  const list = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' })
  return list.split('\n').flatMap((path) => (path === '' ? [] : [path.replace(/^package\//, './')]))
}

function manifestOf(tarball: string): Manifest {
  return JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' }))
}

describe.each(packageNames)('the tarball of %s', (name) => {
  const tarball = inject('tarballs')[name] ?? ''
  const files = filesOf(tarball)
  const manifest = manifestOf(tarball)

  test('has its README, its licence and everything that it exports', () => {
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    )
    expect(files).toEqual(expect.arrayContaining(['./README.md', './LICENSE', ...targets]))
    expect(manifest.exports).toHaveProperty(['.'])
    expect(manifest.exports).toHaveProperty(['./package.json'])
  })

  test('has sources and what was built from them, and nothing else', () => {
    const built = files.filter((file) => file.startsWith('./dist/')).sort()
    const sources = files.filter((file) => file.startsWith('./src/'))
    const expected = sources.flatMap((file) => {
      const base = file.replace('./src/', './dist/').replace(/\.ts$/, '')
      return ['.js', '.js.map', '.d.ts', '.d.ts.map'].map((end) => base + end)
    })
    expect(built).toEqual(expected.sort())
    const others = files.filter((file) => !/^\.\/(dist|src)\//.test(file)).sort()
    const monitoring = ['./monitoring/alerts.yml', './monitoring/dashboard.json']
    const more = name === '@ratepact/server' ? monitoring : []
    expect(others).toEqual(['./LICENSE', './README.md', ...more, './package.json'])
  })

  test('says what a registry shows and a package manager needs', () => {
    const { version } = manifest
    expect(manifest).toMatchObject({
      license: 'MIT',
      type: 'module',
      sideEffects: false,
      engines: { node: '>=20.19' },
      publishConfig: { access: 'public' },
    })
    expect(manifest.description).toMatch(/\w{3}/)
    expect(manifest.keywords).toContain('rate-limit')
    for (const [dependency, range] of Object.entries(manifest.dependencies))
      if (dependency.startsWith('@ratepact/')) expect(range).toBe(version)
    for (const hook of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(manifest.scripts).not.toHaveProperty(hook)
  })

  test('passes publint', async () => {
    const { buffer } = new Uint8Array(readFileSync(tarball))
    const { messages, pkg } = await publint({ strict: true, pack: { tarball: buffer } })
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
  })

  test('passes attw for ESM', () => {
    const { status, stdout } = spawnSync(process.execPath, [attw, tarball, '--profile', 'esm-only'], {
      encoding: 'utf8',
    })
    expect(stdout).toContain(`${name} v`)
    expect({ status, stdout }).toEqual({ status: 0, stdout })
  })
})
