/** What the commands of the checkout make of their arguments, and what they say of the outcome. */
import { describe, expect, it } from 'vitest';
import { comparisons, median, table } from '../../scripts/bench-start.mjs';
import { chosenTargets } from '../../scripts/build.mjs';
import { isSilence } from '../../scripts/install-clients.mjs';
import { npmCommand } from '../../scripts/npm.mjs';
import { executableName, expectedVersionLine, hostTarget } from '../../scripts/project.mjs';
import { mcpxArguments, runForeground } from '../../scripts/start.mjs';
import { stripTools } from '../../scripts/strip.mjs';
import { skippedTests, testRuns } from '../../scripts/test.mjs';

describe('npm start', () => {
  it.each([
    [[], ['demo']],
    [
      ['--port', '4000'],
      ['demo', '--port', '4000'],
    ],
    [
      ['tools', '-s', 'time'],
      ['tools', '-s', 'time'],
    ],
  ])('with %j runs mcpx %j', (args, expected) => {
    expect(mcpxArguments(args)).toEqual(expected);
  });

  it('ends with the exit code of the program', async () => {
    expect(await runForeground(process.execPath, ['-e', 'process.exit(7)'])).toBe(7);
  });

  it.skipIf(process.platform === 'win32')('ends with 128 + n when signal n ended the program', async () => {
    expect(await runForeground(process.execPath, ['-e', 'process.kill(process.pid, "SIGKILL")'])).toBe(137);
  });
});

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

describe('the installation of clients', () => {
  it.each([
    ['npm error code ECONNREFUSED', true],
    ['npm error code ENOTFOUND', true],
    ['npm error code E503\nnpm error 503 Service Unavailable', true],
    ['npm error code EINTEGRITY', false],
    ['npm error code EUSAGE', false],
  ])('that ends with "%s" found a silent registry: %s', (said, expected) => {
    expect(isSilence(said)).toBe(expected);
  });
});

describe('npm run build', () => {
  const pinned = ['linux-x64', 'win-x64'];

  it.each([
    [[], 'linux-x64', ['linux-x64']],
    [['win-x64', 'win-x64'], 'linux-x64', ['win-x64']],
    [['all'], 'linux-x64', ['linux-x64', 'win-x64']],
    [['all'], 'darwin-arm64', ['linux-x64', 'win-x64', 'darwin-arm64']],
  ])('with targets %j on %s builds %j', (names, host, expected) => {
    expect(chosenTargets(names, pinned, host)).toEqual(expected);
  });

  it('refuses a target that it does not know, and lists those it does', () => {
    expect(() => chosenTargets(['amiga'], pinned)).toThrow(/no target "amiga"; there are linux-x64, .* and all/);
  });

  it.each([
    ['linux-x64', false, 'mcpx'],
    ['win-x64', false, 'mcpx.exe'],
    ['darwin-x64', true, 'mcpx-darwin-x64'],
    ['win-arm64', true, 'mcpx-win-arm64.exe'],
  ])('calls the executable for %s (named: %s) %s', (target, named, expected) => {
    expect(executableName(target, { named })).toBe(expected);
  });

  it.each([
    ['win32', 'x64', 'win-x64'],
    ['darwin', 'arm64', 'darwin-arm64'],
    ['linux', 'arm64', 'linux-arm64'],
  ])('on %s %s expects the version line of %s', (platform, arch, target) => {
    expect(hostTarget(platform, arch)).toBe(target);
    expect(expectedVersionLine(target, '24.1.2')).toMatch(
      new RegExp(`^mcpx/\\d\\S* ${platform}-${arch} node-v24\\.1\\.2$`),
    );
  });

  it('strips Linux executables only, with a tool that knows them', () => {
    expect(stripTools('linux-x64', 'linux-x64')[0]).toBe('strip');
    expect(stripTools('linux-arm64', 'linux-x64')).not.toContain('strip');
    expect(stripTools('darwin-x64', 'linux-x64')).toEqual([]);
  });
});

describe('npm', () => {
  it('is the one that started us, without a shell', () => {
    const cli = '/usr/lib/node_modules/npm/bin/npm-cli.js';
    expect(npmCommand({ npm_execpath: cli }, 'win32')).toEqual({
      command: process.execPath,
      args: [cli],
      shell: false,
    });
  });

  it('is looked up otherwise, on Windows through a shell', () => {
    expect(npmCommand({}, 'linux')).toEqual({ command: 'npm', args: [], shell: false });
    expect(npmCommand({ npm_execpath: '/x/yarn.js' }, 'win32')).toEqual({ command: 'npm.cmd', args: [], shell: true });
  });
});

describe('npm run bench:start', () => {
  it('takes the middle value', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('says which bar is missed', () => {
    const rows = [
      { name: 'empty', wall: 30, cpu: 20 },
      { name: 'a', wall: 33, cpu: 30 },
      { name: 'b', wall: 90, cpu: Number.NaN },
    ];
    const [, , a, b] = table(rows, { a: 1.3, b: 2.5 }).split('\n');
    expect(a?.split(/\s{2,}/)).toEqual(['a', '33.0', '30.0', '1.10 x', '1.50 x', '1.3 x', 'ok']);
    expect(b?.split(/\s{2,}/)).toEqual(['b', '90.0', '-', '3.00 x', '-', '2.5 x', 'over']);
  });

  it('compares cases with each other, and leaves those without a bar alone', () => {
    const rows = [
      { name: 'empty', wall: 30, cpu: 20 },
      { name: 'one', wall: 60, cpu: 50 },
      { name: 'fifty', wall: 72, cpu: 60 },
    ];
    expect(
      table(rows, {})
        .split('\n')
        .at(-1)
        ?.split(/\s{2,}/),
    ).toEqual(['fifty', '72.0', '60.0', '2.40 x', '3.00 x']);
    const compared = comparisons(rows, [
      { name: 'fifty', base: 'one', times: 1.3 },
      { name: 'fifty', base: 'empty', times: 2 },
    ]);
    expect(compared.map(({ over, text }) => [over, ...text.split(/\s{2,}/)])).toEqual([
      [false, 'fifty / one', '1.20 x', '1.3 x', 'ok'],
      [true, 'fifty / empty', '2.40 x', '2.0 x', 'over'],
    ]);
  });
});
