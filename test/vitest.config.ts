import { defineConfig } from 'vitest/config'

// Packages are imported by name and resolve to their sources, so a test needs no build.
const conditions = ['@ratepact/source', 'node', 'import', 'module', 'default']

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
})
