import { defaultServerConditions, type Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

// Our packages are imported by name and resolve to their sources, so a test needs no build. The rest are the usual
// conditions; one more, and Node itself would get it too and find modules that it cannot require.
const conditions = ['@ratepact/source', ...defaultServerConditions]

// With PEERS=newest, undici and MSW are those of test/newest, which the oldest Node that we support cannot run.
const newestPeers: Plugin = {
  name: 'newest-peers',
  enforce: 'pre',
  resolveId(id) {
    if (!/^(undici|msw)(\/|$)/.test(id)) return undefined
    return this.resolve(id, new URL('newest/package.json', import.meta.url).pathname, { skipSelf: true })
  },
}

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  plugins: process.env.PEERS === 'newest' ? [newestPeers] : [],
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    // What needs the packed packages is slow and has a run of its own: npm run test:packages.
    exclude: ['**/node_modules/**', 'test/package/**'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
})
