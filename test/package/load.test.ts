import { runInNewContext } from 'node:vm'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createProject, type Project, packageNames } from './project.js'

/** Every entry point that needs no peer, with something that it exports. */
const entryPoints = [
  ['@ratepact/contract', 'parseRateLimit'],
  ['@ratepact/client', 'createFetch'],
  ['@ratepact/client/dialects', 'dialects'],
  ['@ratepact/client/undici', 'pace'],
  ['@ratepact/server', 'createLimiter'],
  ['@ratepact/server/redis', 'redisStore'],
  ['@ratepact/server/express', 'rateLimit'],
  ['@ratepact/server/fetch', 'rateLimit'],
  ['@ratepact/server/fastify', 'rateLimit'],
  ['@ratepact/server/koa', 'rateLimit'],
  ['@ratepact/server/node', 'rateLimit'],
  ['@ratepact/testing', 'limitedApi'],
] as const

let project: Project
beforeAll(() => {
  project = createProject(packageNames)
})
afterAll(() => project?.remove())

describe('without any peer', () => {
  test.each(entryPoints)('%s can be imported', (path, name) => {
    project.write('import.js', `import { ${name} } from '${path}'\nconsole.log(typeof ${name})`)
    expect(project.node('import.js')).toMatchObject({ status: 0, stdout: 'function\n', stderr: '' })
  })

  test.each(entryPoints)('%s can be required by CommonJS, without a warning', (path, name) => {
    project.write('require.cjs', `const { ${name} } = require('${path}')\nconsole.log(typeof ${name})`)
    expect(project.node('require.cjs')).toMatchObject({ status: 0, stdout: 'function\n', stderr: '' })
  })
})

describe('in a browser', () => {
  const roots = [
    ['@ratepact/contract', `root.parseRateLimit('"a";r=1').status`, 'ok'],
    ['@ratepact/client', `typeof root.createFetch().limits`, 'function'],
    ['@ratepact/client/dialects', `typeof root.dialects().read`, 'function'],
    [
      '@ratepact/server',
      `root.createLimiter({ policies: [root.tokenBucket({ name: 'a', capacity: 1, refillPerSecond: 1 })] }).policies[0].name`,
      'a',
    ],
  ] as const

  test.each(roots)(
    '%s is bundled without Node’s modules and runs without its globals',
    async (path, use, is) => {
      const { outputFiles, warnings } = await build({
        stdin: { contents: `export * from '${path}'`, resolveDir: project.folder },
        bundle: true,
        platform: 'browser',
        format: 'iife',
        globalName: 'root',
        write: false,
        logLevel: 'silent',
      })
      const code = outputFiles[0]?.text ?? ''
      expect(warnings).toEqual([])
      expect(code).not.toMatch(/node:|\brequire\(/)
      const browser = {
        setTimeout,
        clearTimeout,
        performance,
        URL,
        Headers,
        Request,
        Response,
        TextEncoder,
        AbortController,
      }
      expect(runInNewContext(`${code}\n${use}`, browser)).toBe(is)
    },
  )
})
