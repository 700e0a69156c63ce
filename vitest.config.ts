/** Test runner: every test runs in an isolated home; the e2e folder needs a build and has its own project. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  define: { __VERSION__: JSON.stringify('0.0.0-test') },
  test: {
    setupFiles: ['tests/setup/isolate-home.ts'],
    testTimeout: 20_000,
    coverage: {
      provider: 'v8',
      include: ['src/**'],
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
        test: { name: 'unit', include: ['tests/**/*.test.ts'], exclude: ['tests/e2e/**', 'tests/interop/**'] },
      },
      {
        extends: true,
        test: { name: 'e2e', include: ['tests/{e2e,interop}/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 120_000 },
      },
    ],
  },
});
