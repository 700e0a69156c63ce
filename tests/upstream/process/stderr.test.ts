import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createPool } from '../../../src/upstream/pool.ts';
import { quote } from '../../../src/upstream/process/process-errors.ts';
import { createStderrFiles } from '../../../src/upstream/process/stderr-file.ts';
import { cleanup, recorder, SETTINGS, stdioSpec, until } from '../world.ts';

const folder = () => join(mkdtempSync(join(tmpdir(), 'mcpx-stderr-')), 'logs');

describe('what is quoted of stderr', () => {
  const NPM = [
    'npm warn exec The following package was not found and will be installed: nope@1.0.0',
    'npm error code E404',
    'npm error 404 Not Found - GET https://packages.example/nope - Not found',
    'npm error A complete log of this run can be found in: /home/me/.npm/_logs/x.log',
    'npm notice',
    'npm notice New major version of npm available! 10.9.0 -> 11.0.0',
    'npm notice Changelog: https://example.com/npm',
    'npm notice To update run: npm install -g npm@11.0.0',
    'npm notice',
  ];
  const NODE = [
    'node:internal/modules/cjs/loader:1228',
    '  throw err;',
    '  ^',
    "Error: Cannot find module 'nope'",
    ...Array.from({ length: 12 }, (_, n) => `    at Module._load (node:internal/${n})`),
    "  code: 'MODULE_NOT_FOUND'",
    '}',
    'Node.js v24.0.0',
  ];
  test.each<[string, string[], string]>([
    [
      'of npx: not its advertisement',
      NPM,
      ' (stderr: npm error code E404 | npm error 404 Not Found - GET https://packages.example/nope - Not found)',
    ],
    ['of node: the error, not the frames', NODE, "Error: Cannot find module 'nope' |   code: 'MODULE_NOT_FOUND')"],
    [
      'of Python: its last words',
      ['Traceback (most recent call last):', '  File "a.py", line 1', 'KeyError: 1'],
      'KeyError: 1)',
    ],
    [
      'of uvx: not what it downloads',
      ['Downloading big (5MiB)', 'Installed 3 packages in 5ms', 'no such command'],
      ' (stderr: no such command)',
    ],
    [
      'only an advertisement, where there is nothing else',
      ['npm notice New version'],
      ' (stderr: npm notice New version)',
    ],
    ['nothing', [], ''],
  ])('%s', (_, lines, expected) => {
    expect(quote(lines).endsWith(expected)).toBe(true);
  });
});

describe('the files with what servers write to stderr', () => {
  test('have one line each, with its time, for their owner only', async () => {
    const logs = folder();
    const spec = stdioSpec(process.execPath, ['-e', 'console.error("one\\n\\u001b[31mtwo " + process.env.TOKEN)'], {
      name: 'srv',
      env: { TOKEN: 'sesame-open' },
    });
    const stderr = createStderrFiles({ folder: logs, log: recorder().log });
    const pool = createPool({ servers: [spec], settings: SETTINGS, log: recorder().log, stderr });
    cleanup(() => pool.close({ eof: 0, term: 0 }));
    await pool
      .get('srv')
      ?.connect()
      .catch(() => undefined);
    const file = join(logs, 'srv.log');
    await until(() => existsSync(file) && readFileSync(file, 'utf8').includes('two'));
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z one$/);
    expect(lines[1]).toMatch(/Z two \*\*\*$/);
    expect(statSync(file).mode & 0o777).toBe(process.platform === 'win32' ? 0o666 : 0o600);
  });

  test('are turned over once when they are full, and never grow beyond that', async () => {
    const logs = folder();
    const stderr = createStderrFiles({ folder: logs, log: recorder().log, maxBytes: 2000 });
    const file = join(logs, 'a.log');
    for (let n = 0; n < 100; n++) {
      stderr.write('a', `line ${n}`);
      await until(() => existsSync(file) && readFileSync(file, 'utf8').includes(`line ${n}\n`));
    }
    expect(statSync(file).size).toBeLessThanOrEqual(2000);
    expect(statSync(`${file}.1`).size).toBeLessThanOrEqual(2000);
    expect(readFileSync(`${file}.1`, 'utf8') + readFileSync(file, 'utf8')).toMatch(/line 7\d\n/);
    expect(existsSync(`${file}.2`)).toBe(false);
  });

  test('take what the disk takes; the rest is counted', async () => {
    const logs = folder();
    const stderr = createStderrFiles({ folder: logs, log: recorder().log, maxBytes: 10_000_000 });
    for (let n = 0; n < 5000; n++) stderr.write('a', 'x'.repeat(200));
    const file = join(logs, 'a.log');
    await until(() => existsSync(file) && /… \d+ lines were dropped\n$/.test(readFileSync(file, 'utf8')));
    expect(statSync(file).size).toBeLessThan(600_000);
  });

  test('that cannot be written are said once and are no trouble', async () => {
    const logs = folder();
    writeFileSync(logs, 'in the way');
    const { log, lines } = recorder();
    const stderr = createStderrFiles({ folder: logs, log });
    for (let n = 0; n < 3; n++) {
      stderr.write('a', 'line');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => lines.length > 0);
    expect(lines).toEqual([expect.stringContaining('cannot be kept')]);
  });
});
