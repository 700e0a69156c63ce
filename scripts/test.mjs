/**
 * npm test: installs and builds what is needed, then runs every test: the unit tests with coverage, then the end-to-end ones.
 *   npm test -- tests/wire   arguments go to vitest, which then runs what they select, without the coverage bars
 * With MCPX_TEST_NO_SKIP=1 a skipped test is a failure, unless its name says that it is about another system.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { at, isMain, runMain } from './project.mjs';
import { makeReady } from './ready.mjs';
import { say } from './say.mjs';
import { runForeground } from './start.mjs';

/** The vitest runs: coverage counts what runs in process, so the end-to-end tests are a run of their own. */
export function testRuns(args) {
  if (args.length > 0) return [{ name: 'tests', args: ['run', ...args] }];
  return [
    { name: 'unit', args: ['run', '--project', 'unit', '--coverage'] },
    { name: 'e2e', args: ['run', '--project', 'e2e', '--passWithNoTests'] },
  ];
}

/** How a test says in its name that it is about one system only. */
const SYSTEM_NAMES = { linux: /\bon Linux\b/, darwin: /\bon macOS\b/, win32: /\bon Windows\b/ };

/** True when a test's name says that it is about another system than this one. */
function isForeign(name, platform) {
  return Object.entries(SYSTEM_NAMES).some(([system, pattern]) => system !== platform && pattern.test(name));
}

/** The full names of the tests that could have run here and did not, from vitest's JSON report. */
export function skippedTests(report, platform = process.platform) {
  return report.testResults
    .flatMap((file) => file.assertionResults)
    .filter((test) => ['skipped', 'pending', 'todo', 'disabled'].includes(test.status))
    .map((test) => test.fullName)
    .filter((name) => !isForeign(name, platform));
}

/** One run of vitest. Returns its exit code, or 1 when a test was skipped that must not be. */
async function runVitest(args, { noSkip }) {
  const vitest = at('node_modules', 'vitest', 'vitest.mjs');
  if (!noSkip) return runForeground(process.execPath, [vitest, ...args]);
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-report-'));
  try {
    const file = join(folder, 'report.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const code = await runForeground(process.execPath, [vitest, ...args, ...reporters]);
    if (code !== 0) return code;
    const skipped = skippedTests(JSON.parse(readFileSync(file, 'utf8')));
    for (const name of skipped) say('skipped', name);
    return skipped.length > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(args) {
  await makeReady();
  let failed = 0;
  for (const run of testRuns(args)) {
    say('test', `${run.name}: vitest ${run.args.join(' ')}`);
    const code = await runVitest(run.args, { noSkip: process.env.MCPX_TEST_NO_SKIP === '1' });
    if (code !== 0) say('test', `${run.name} failed`);
    failed ||= code;
  }
  return failed;
}

if (isMain(import.meta.url)) await runMain(main);
