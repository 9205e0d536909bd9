import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Examples import comity by its name and get its source, as under `node --conditions`.
  ssr: { resolve: { conditions: ['comity-source', 'module', 'node', 'import', 'default'] } },
  test: {
    include: [
      'bench/**/*.test.ts',
      'scripts/**/*.test.ts',
      'src/**/*.test.ts',
      'test/**/*.test.ts',
      'examples/**/*.test.ts',
    ],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    maxWorkers: 2,
    restoreMocks: true,
  },
})
