import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { npm } from './npm.js'

export type PackageName = '@ratepact/contract' | '@ratepact/server' | '@ratepact/client' | '@ratepact/testing'

export const packageNames: readonly PackageName[] = [
  '@ratepact/contract',
  '@ratepact/server',
  '@ratepact/client',
  '@ratepact/testing',
]

export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A project of a user, outside the repository. */
export interface Project {
  readonly folder: string
  write(file: string, text: string): void
  /** Runs a program with Node. */
  node(...args: readonly string[]): Ran
  /** The packages that are installed, sorted. */
  installed(): readonly string[]
  npm(...args: readonly string[]): string
  remove(): void
}

/** Makes a project in an empty folder, with the given packages of ours from their tarballs and others by name. */
export function createProject(ours: readonly PackageName[], others: readonly string[] = []): Project {
  const folder = mkdtempSync(join(tmpdir(), 'ratepact-project-'))
  const tarballs = inject('tarballs')
  const files = ours.map((name) => tarballs[name] ?? name)
  writeFileSync(join(folder, 'package.json'), '{ "name": "user", "private": true, "type": "module" }')
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', '--loglevel=error']
  npm(folder, 'install', ...quiet, ...files, ...others)
  return {
    folder,
    write: (file, text) => writeFileSync(join(folder, file), text),
    node: (...args) => spawnSync(process.execPath, [...args], { cwd: folder, encoding: 'utf8' }),
    installed: () => installedIn(join(folder, 'node_modules')),
    npm: (...args) => npm(folder, ...args),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function installedIn(modules: string): readonly string[] {
  return readdirSync(modules)
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
    )
    .filter((name) => !name.startsWith('.'))
    .sort()
}
