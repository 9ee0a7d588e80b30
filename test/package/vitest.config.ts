import { defineConfig } from 'vitest/config'

// The packages as they are published: packed, installed elsewhere, used there. Nothing here resolves to sources.
export default defineConfig({
  root: new URL('../..', import.meta.url).pathname,
  test: {
    include: ['test/package/**/*.test.ts'],
    globalSetup: ['test/package/pack.ts'],
    testTimeout: 120_000,
    hookTimeout: 180_000,
  },
})
