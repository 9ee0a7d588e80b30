import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject, type Project, packageNames } from './project.js'

const compilers = ['5.4.5', '5.9.3', '7.0.2']
const resolutions = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
]
const cases = compilers.flatMap((version) => resolutions.map((resolution) => ({ version, ...resolution })))
const consumers = join(import.meta.dirname, 'consumer')

let tools: Project
beforeAll(() => {
  tools = createProject(
    [],
    compilers.map((version) => `typescript-${version}@npm:typescript@${version}`),
  )
})
afterAll(() => tools?.remove())

/** What the compiler says of a file and of our declarations; what it says of those of others is not ours to mend. */
function compile(project: Project, version: string, file: string, options: object): string {
  const compilerOptions = {
    target: 'es2022',
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    ...options,
  }
  project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: [file] }))
  const tsc = join(tools.folder, `node_modules/typescript-${version}/bin/tsc`)
  const { stdout, stderr } = project.node(tsc, '-p', '.')
  const said = (stdout + stderr).split(/\n(?! )/)
  return said.filter((line) => !/^node_modules\/(?!@ratepact\/)/.test(line)).join('\n')
}

describe('without peers, without the types of Node, every declaration checked', () => {
  let project: Project
  beforeAll(() => {
    project = createProject(packageNames)
    cpSync(join(consumers, 'web.ts'), join(project.folder, 'web.ts'))
    project.write('web.cts', readFileSync(join(consumers, 'web.ts'), 'utf8'))
  })
  afterAll(() => project?.remove())

  test.each(cases)(
    'TypeScript $version compiles a user’s code by $moduleResolution',
    ({ version, ...how }) => {
      expect(compile(project, version, 'web.ts', { ...how, types: [], lib: ['es2022', 'dom'] })).toBe('')
    },
  )

  test.each(['5.9.3', '7.0.2'])('TypeScript %s lets CommonJS require it', (version) => {
    const how = { module: 'nodenext', types: [], lib: ['es2022', 'dom'] }
    expect(compile(project, version, 'web.cts', how)).toBe('')
  })
})

const peers = {
  'as they are developed with': [
    'express@5.3.0',
    '@types/express@5.0.6',
    'fastify@5.12.8',
    'ioredis@5.11.1',
    'msw@2.15.0',
    'undici@7.30.2',
    'redis@6.3.1',
    'prom-client@15.1.3',
    '@opentelemetry/api@1.9.1',
  ],
  'of the other major versions': [
    'express@4.22.3',
    '@types/express@4.17.25',
    'fastify@5.0.0',
    'ioredis@6.0.0',
    'msw@3.0.5',
    'undici@8.13.1',
    'redis@5.12.1',
    'prom-client@15.0.0',
    '@opentelemetry/api@1.9.0',
  ],
}

describe.each(Object.entries(peers))('with peers %s', (which, versions) => {
  let project: Project
  beforeAll(() => {
    project = createProject(packageNames, ['@types/node@20.19.43', ...versions])
    for (const file of ['peers.ts', 'node-redis.ts'])
      cpSync(join(consumers, file), join(project.folder, file))
  })
  afterAll(() => project?.remove())

  // Their own declarations take long to check: the older compilers see one set of them, by one resolution each.
  const newest = cases.slice(-2)
  const asked = which === 'as they are developed with' ? [...cases.slice(0, 1), ...cases.slice(3)] : newest
  test.each(asked)(
    'TypeScript $version compiles a user’s code by $moduleResolution',
    ({ version, ...how }) => {
      const options = { ...how, types: ['node'], lib: ['es2023', 'dom', 'dom.iterable'] }
      expect(compile(project, version, 'peers.ts', options)).toBe('')
    },
  )

  test('TypeScript 7.0.2 compiles a user’s code with node-redis', () => {
    const how = { module: 'nodenext', types: ['node'], lib: ['es2023', 'dom'] }
    expect(compile(project, '7.0.2', 'node-redis.ts', how)).toBe('')
  })
})
