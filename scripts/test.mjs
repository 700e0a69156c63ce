/**
 * npm test: installs and builds what is needed, then runs every test: the unit tests with coverage, then the end-to-end ones.
 *   npm test -- tests/wire   arguments go to vitest, which then runs what they select, without the coverage bars
 * The last line of stdout sums up all runs: `N passed, N failed`, and `, N skipped` where some were.
 * With MCPX_TEST_NO_SKIP=1 a skipped test is a failure, unless its name says that it is about another system, or about a client
 * that MCPX_TEST_CLIENTS ("Claude Code,Codex") does not name.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from './ensure-built.mjs';
import { log } from './log.mjs';
import { at, isMain, readJson, runMain, tellError } from './project.mjs';
import { runForeground } from './start.mjs';

/** The vitest runs: coverage counts what runs in process, so the end-to-end tests are a run of their own. */
export function testRuns(args) {
  if (args.length > 0) return [{ name: 'tests', args: ['run', ...args] }];
  return [
    { name: 'unit', args: ['run', '--project', 'unit', '--coverage'] },
    { name: 'e2e', args: ['run', '--project', 'e2e', '--project', 'clients', '--passWithNoTests'] },
  ];
}

/** How a test says in its name that it is about one system only. */
const SYSTEM_NAMES = { linux: /\bon Linux\b/, darwin: /\bon macOS\b/, win32: /\bon Windows\b/ };

/** True when a test's name says that it is about another system than this one. */
function isForeign(name, platform) {
  return Object.entries(SYSTEM_NAMES).some(([system, pattern]) => system !== platform && pattern.test(name));
}

/** How a test says in its name that it is about a client that need not be installed. */
const CLIENT_NAME = /^(.+), where it is installed,/;

/** True when a test is about a client that this run need not have: `clients` are those that it has to. */
function isAbsent(name, clients) {
  const [, client] = CLIENT_NAME.exec(name) ?? [];
  return client !== undefined && !clients.includes(client);
}

/** The full names of the tests that could have run here and did not, from vitest's JSON report. */
export function skippedTests(report, { platform = process.platform, clients = [] } = {}) {
  return report.testResults
    .flatMap((file) => file.assertionResults)
    .filter((test) => ['skipped', 'pending', 'todo', 'disabled'].includes(test.status))
    .map((test) => test.fullName)
    .filter((name) => !isForeign(name, platform) && !isAbsent(name, clients));
}

/** How many tests of one run passed, failed and were skipped, from vitest's JSON report; a file that cannot be loaded counts as one failed test. */
export function countTests(report) {
  const unloaded = report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0);
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + unloaded.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** The last line of `npm test`, over all runs. */
export function summaryLine(counts) {
  const sum = (name) => counts.reduce((total, one) => total + one[name], 0);
  const skipped = sum('skipped');
  return `${sum('passed')} passed, ${sum('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** The environment of vitest: colours only for a terminal, whatever the variables of a build server say. */
export function testEnvironment(env, isTerminal) {
  if (isTerminal) return env;
  const { FORCE_COLOR: _, ...rest } = env;
  return { ...rest, NO_COLOR: '1' };
}

/** Undefined where vitest ended before it could write one. */
function readReport(file) {
  try {
    return readJson(file);
  } catch {
    return undefined;
  }
}

/**
 * The result of one run: its counts, and an exit code that is 0 only where nothing failed. A run that failed without a failed test (vitest
 * itself failed, coverage is below its bars, an error came outside of any test, a test was skipped that must not be) counts as one more.
 */
export function outcomeOf(code, report, { noSkip = false, clients = [] } = {}) {
  const counts = report ? countTests(report) : { passed: 0, failed: 0, skipped: 0 };
  const forbidden = noSkip && report ? skippedTests(report, { clients }) : [];
  const failed = code !== 0 || forbidden.length > 0 || report === undefined;
  if (failed && counts.failed === 0) counts.failed = Math.max(1, forbidden.length);
  return { counts, forbidden, code: code !== 0 ? code : Number(counts.failed > 0) };
}

/** One run of vitest. */
async function runVitest(args, options) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-report-'));
  try {
    const file = join(folder, 'report.json');
    const shown = args.some((arg) => arg.startsWith('--reporter')) ? [] : ['--reporter=default'];
    const reporters = [...shown, `--reporter=${at('scripts', 'test-reporter.mjs')}`];
    const vitest = at('node_modules', 'vitest', 'vitest.mjs');
    const env = { ...testEnvironment(process.env, process.stdout.isTTY), MCPX_TEST_REPORT: file };
    const code = await runForeground(process.execPath, [vitest, ...args, ...reporters], { env });
    return outcomeOf(code, readReport(file), options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Which skipped tests are failures, as the environment says. */
function skipRules(env = process.env) {
  return { noSkip: env.MCPX_TEST_NO_SKIP === '1', clients: (env.MCPX_TEST_CLIENTS ?? '').split(',') };
}

/** Runs everything that is asked for, until a signal ends a run; returns what became of each. */
async function runAll(args) {
  const outcomes = [];
  for (const run of testRuns(args)) {
    log('test', `${run.name}: vitest ${run.args.join(' ')}`);
    const outcome = await runVitest(run.args, skipRules());
    outcomes.push(outcome);
    for (const name of outcome.forbidden) log('skipped', name);
    if (outcome.code !== 0) log('test', `${run.name} failed`);
    if (outcome.code >= 128) break;
  }
  return outcomes;
}

/** Runs the tests after `prepare`, sums them up, and returns the exit code. */
export async function runTests(args, prepare = ensureBuilt) {
  let outcomes;
  try {
    await prepare();
    outcomes = await runAll(args);
  } catch (error) {
    tellError(error);
    outcomes = [outcomeOf(1, undefined)];
  }
  process.stdout.write(`${summaryLine(outcomes.map(({ counts }) => counts))}\n`);
  return outcomes.find(({ code }) => code !== 0)?.code ?? 0;
}

if (isMain(import.meta.url)) await runMain((args) => runTests(args));
