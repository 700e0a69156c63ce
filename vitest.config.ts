/** Test runner: every test runs in an isolated home; the e2e folder needs a build and has its own project. */
import { defineConfig } from 'vitest/config';
import { PATIENCE } from './tests/setup/until.ts';

export default defineConfig({
  define: { __VERSION__: JSON.stringify('0.0.0-test') },
  test: {
    globalSetup: ['tests/setup/own-temp.ts'],
    setupFiles: ['tests/setup/isolate-home.ts'],
    // Limits for what hangs, not for what is slow: tests must pass on a busy machine.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One file per processor; by default vitest leaves one processor of two idle.
    maxWorkers: '100%',
    expect: { poll: { timeout: PATIENCE } },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/main.ts', 'src/boot.ts'],
      reporter: ['text-summary', 'json-summary'],
      thresholds: {
        statements: 80,
        lines: 80,
        functions: 80,
        branches: 70,
        ...Object.fromEntries(
          ['router', 'catalog', 'config', 'wire', 'upstream', 'listen', 'policy'].map((folder) => [
            `src/${folder}/**`,
            { statements: 90, lines: 90 },
          ]),
        ),
      },
    },
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['tests/**/*.test.ts'], exclude: ['tests/{e2e,interop,clients}/**'] },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['tests/{e2e,interop}/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'clients',
          include: ['tests/clients/**/*.test.ts'],
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
