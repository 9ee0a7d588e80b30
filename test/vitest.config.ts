import { availableParallelism } from 'node:os'
import { defaultServerConditions, type Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

// Our packages are imported by name and resolve to their sources, so a test needs no build. The rest are the usual
// conditions, which Node itself gets too: but for `module`, under which some packages have what only bundlers can read.
const conditions = ['@ratepact/source', ...defaultServerConditions.filter((name) => name !== 'module')]

// With PEERS=newest, undici and MSW are those of test/newest, which the oldest Node that we support cannot run; and what
// does not depend on Node's version is left out: arithmetic on a clock of its own, what Redis decides, what a browser
// does, and a program that shows something.
const newest = process.env.PEERS === 'newest'
const newestPeers: Plugin = {
  name: 'newest-peers',
  enforce: 'pre',
  resolveId(id) {
    if (!/^(undici|msw)(\/|$)/.test(id)) return undefined
    return this.resolve(id, new URL('newest/package.json', import.meta.url).pathname, { skipSelf: true })
  },
}

const sameOnEveryNode = [
  'test/client/pace/simulator/**',
  'test/client/leaks.test.ts',
  'test/client/browser.test.ts',
  'test/testing/demo.test.ts',
  'test/{cluster,faults,lua}/**',
  'test/server/{bounds,exactness,hold,instances,keys,leases,stores,top}/**',
]

/**
 * What kills servers under a process, counts what a process holds, or loads a framework that changes globals has a
 * process of its own; the rest share a few.
 */
const apart = [
  'test/{cluster,faults}/**/*.test.ts',
  'test/**/{leaks,sockets,exit,fronts,listen}.test.ts',
  'test/server/{adapters/*,http/hold}.test.ts',
]
// What needs the packed packages is slow and has a run of its own: npm run test:packages.
const never = ['**/node_modules/**', 'test/package/**', ...(newest ? sameOnEveryNode : [])]

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  plugins: newest ? [newestPeers] : [],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    // Most tests wait for something, so two run at once also where there are two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 20_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...never, ...apart],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'apart', include: apart, exclude: never } },
    ],
  },
})
