import { describe, expect, onTestFinished, test } from 'vitest'
import { createProject, type PackageName } from './project.js'

const contract = ['@ratepact/contract', 'structured-headers']
const server = ['@ratepact/server', 'ipaddr.js', ...contract]
const wanted: readonly [PackageName, readonly string[]][] = [
  ['@ratepact/contract', contract],
  ['@ratepact/client', ['@ratepact/client', ...contract]],
  ['@ratepact/server', server],
  ['@ratepact/testing', ['@ratepact/testing', ...server]],
]

describe('what one installs with', () => {
  test.each(wanted)('%s is that, no framework and no Redis client', (name, packages) => {
    // Those of ours that it needs come from their tarballs too.
    const ours = packages.filter((dependency) => dependency.startsWith('@ratepact/')) as PackageName[]
    const project = createProject(ours)
    onTestFinished(() => project.remove())
    expect(project.installed()).toEqual([...packages].sort())
    // npm itself finds nothing missing, extraneous or of a wrong version.
    const { problems } = JSON.parse(project.npm('ls', '--all', '--omit=dev', '--json')) as {
      problems?: string[]
    }
    expect(problems ?? []).toEqual([])
    expect(ours).toContain(name)
  })
})
