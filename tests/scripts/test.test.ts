/** The runs of `npm test` and its end: one line over all runs, a truthful exit code, and no colours outside of a terminal. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/project.mjs';
import { countTests, outcomeOf, skippedTests, summaryLine, testEnvironment, testRuns } from '../../scripts/test.mjs';

type Report = Parameters<typeof countTests>[0];

const tests = (status: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ status, fullName: `${status} ${n}` }));

function reportOf({ passed = 0, failed = 0, skipped = 0, todo = 0, unloaded = 0 }): Report {
  const assertionResults = [
    ...tests('passed', passed),
    ...tests('failed', failed),
    ...tests('skipped', skipped),
    ...tests('todo', todo),
  ];
  return {
    numPassedTests: passed,
    numFailedTests: failed,
    numPendingTests: skipped,
    numTodoTests: todo,
    testResults: [
      { status: failed > 0 ? 'failed' : 'passed', assertionResults },
      ...Array.from({ length: unloaded }, () => ({ status: 'failed', assertionResults: [] })),
    ],
  };
}

describe('npm test', () => {
  it('counts coverage for the unit tests only', () => {
    const [unit, e2e] = testRuns([]);
    expect(unit?.args).toEqual(['run', '--project', 'unit', '--coverage']);
    expect(e2e?.args).not.toContain('--coverage');
  });

  it('hands its arguments to vitest', () => {
    expect(testRuns(['tests/wire', '-t', 'x'])).toEqual([{ name: 'tests', args: ['run', 'tests/wire', '-t', 'x'] }]);
  });

  it('finds the skipped tests in the report', () => {
    const assertionResults = ['passed', 'skipped', 'todo', 'failed', 'pending'].map((status) => ({
      status,
      fullName: status,
    }));
    expect(skippedTests({ testResults: [{ assertionResults }] })).toEqual(['skipped', 'todo', 'pending']);
  });
});

describe('a skipped test', () => {
  const report = (fullName: string) => ({ testResults: [{ assertionResults: [{ status: 'skipped', fullName }] }] });

  it.each([
    ['looks up PATHEXT on Windows', 'linux', []],
    ['looks up PATHEXT on Windows', 'win32', ['looks up PATHEXT on Windows']],
    ['works without network (needs unshare)', 'linux', ['works without network (needs unshare)']],
  ])('"%s" on %s counts as %j', (name, platform, expected) => {
    expect(skippedTests(report(name), { platform })).toEqual(expected);
  });

  it.each([
    ['Codex, where it is installed, shows a table', ['Codex'], ['Codex, where it is installed, shows a table']],
    ['Codex, where it is installed, shows a table', ['Claude Code'], []],
  ])('"%s" in a run that has %j counts as %j', (name, clients, expected) => {
    expect(skippedTests(report(name), { clients })).toEqual(expected);
  });
});

describe('the summary', () => {
  it('adds up all runs', () => {
    const counts = [reportOf({ passed: 3, failed: 1 }), reportOf({ passed: 4, failed: 2 })].map(countTests);
    expect(summaryLine(counts)).toBe('7 passed, 3 failed');
  });

  it('names skipped tests where there are some', () => {
    expect(summaryLine([countTests(reportOf({ passed: 3, skipped: 1, todo: 1 }))])).toBe(
      '3 passed, 0 failed, 2 skipped',
    );
  });

  it('counts a file that cannot be loaded', () => {
    expect(summaryLine([countTests(reportOf({ passed: 3, unloaded: 2 }))])).toBe('3 passed, 2 failed');
  });
});

describe('a run', () => {
  it.each<[string, number, Report | undefined, boolean, string, number]>([
    ['in which all passed', 0, reportOf({ passed: 2 }), false, '2 passed, 0 failed', 0],
    ['with a failed test', 1, reportOf({ passed: 2, failed: 1 }), false, '2 passed, 1 failed', 1],
    ['that failed without a failed test', 1, reportOf({ passed: 2 }), false, '2 passed, 1 failed', 1],
    ['that crashed', 134, undefined, false, '0 passed, 1 failed', 134],
    ['that ended well without a report', 0, undefined, false, '0 passed, 1 failed', 1],
    ['with a skipped test', 0, reportOf({ passed: 2, skipped: 1 }), false, '2 passed, 0 failed, 1 skipped', 0],
    ['with a forbidden skip', 0, reportOf({ passed: 2, skipped: 2 }), true, '2 passed, 2 failed, 2 skipped', 1],
  ])('%s', (_, exitCode, report, noSkip, summary, expected) => {
    const { counts, code } = outcomeOf(exitCode, report, { noSkip });
    expect([summaryLine([counts]), code]).toEqual([summary, expected]);
  });
});

describe('colours', () => {
  it('are for terminals, also where a build server asks for them', () => {
    const env = { FORCE_COLOR: '1', CI: 'true' };
    expect(testEnvironment(env, true)).toEqual(env);
    expect(testEnvironment(env, false)).toEqual({ CI: 'true', NO_COLOR: '1' });
  });
});

describe('the whole command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-tests-'));
  const file = (name: string, text: string) => writeFileSync(join(folder, `${name}.test.js`), text);
  beforeAll(() => {
    file('good', `test('one', () => {}); test('two', () => {}); test.skip('three', () => {});`);
    file('bad', `test('four', () => expect(1).toBe(2));`);
    file('broken', `throw new Error('cannot be loaded');`);
    // Its parent is vitest itself.
    file('crash', `test('five', () => void process.kill(process.ppid, 'SIGKILL'));`);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs these files in a process of its own, as `npm test` does once the checkout is ready. */
  const npmTest = (names: string[], prepare = '') =>
    new Promise<{ code: number | null; stdout: string }>((resolve) => {
      const args = ['--root', folder, '--globals', '--pool=forks', ...names.map((name) => `${name}.test.js`)];
      const program = `import { runTests } from ${JSON.stringify(join(ROOT, 'scripts', 'test.mjs'))};
        process.exitCode = await runTests(${JSON.stringify(args)}, async () => { ${prepare} });`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
        cwd: ROOT,
        env: { ...process.env, FORCE_COLOR: '1', MCPX_TEST_NO_SKIP: '' },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      let stdout = '';
      child.stdout.setEncoding('utf8').on('data', (text) => {
        stdout += text;
      });
      child.once('close', (code) => resolve({ code, stdout }));
    });
  const lastLine = (text: string) => text.trimEnd().split('\n').at(-1);

  it('ends with the summary, without colours, and with 0 where all passed', async () => {
    const { code, stdout } = await npmTest(['good']);
    expect([code, lastLine(stdout)]).toEqual([0, '2 passed, 0 failed, 1 skipped']);
    expect(stdout).not.toContain('\u001b');
  });

  it('ends with the summary where a test failed and a file cannot be loaded', async () => {
    const { code, stdout } = await npmTest(['good', 'bad', 'broken']);
    expect([code, lastLine(stdout)]).toEqual([1, '2 passed, 2 failed, 1 skipped']);
    expect(stdout).toContain('× four');
  });

  it('ends with the summary where the program cannot be built', async () => {
    const { code, stdout } = await npmTest([], `throw new Error('no compiler');`);
    expect([code, stdout]).toEqual([1, '0 passed, 1 failed\n']);
  });

  it.skipIf(process.platform === 'win32')('ends with the summary where vitest itself is killed', async () => {
    const { code, stdout } = await npmTest(['crash']);
    expect([code, lastLine(stdout)]).toEqual([137, '0 passed, 1 failed']);
  });
});
