import { defaultServerConditions } from 'vite'
import { defineConfig } from 'vitest/config'

// Our packages are imported by name and resolve to their sources, so a test needs no build. The rest are the usual
// conditions; one more, and Node itself would get it too and find modules that it cannot require.
const conditions = ['@ratepact/source', ...defaultServerConditions]

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
