import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { npm } from './npm.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The tarball of each package, by the package's name. */
    tarballs: Record<string, string>
  }
}

const root = new URL('../../', import.meta.url).pathname

/** Packs every package once, before the tests. */
export function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'ratepact-packed-'))
  const packed = JSON.parse(
    npm(root, 'pack', '--workspaces', '--json', '--pack-destination', folder),
  ) as unknown
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    workspaces: string[]
  }
  const files = Object.values(packed as Record<string, { name: string; filename: string }>)
  if (files.length !== workspaces.length) throw new Error(`Expected ${workspaces.length} tarballs`)
  project.provide(
    'tarballs',
    Object.fromEntries(files.map(({ name, filename }) => [name, join(folder, filename)])),
  )
  return () => rmSync(folder, { recursive: true, force: true })
}
