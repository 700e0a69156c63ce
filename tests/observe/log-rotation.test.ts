/** Full files that cannot be set aside: no line is lost. */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAudit } from '../../src/observe/audit.ts';
import { createLog } from '../../src/observe/log.ts';
import { appendBounded } from '../../src/observe/log-rotation.ts';
import { withoutTimes } from '../setup/log-lines.ts';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return { ...fs, renameSync: vi.fn(fs.renameSync), rmSync: vi.fn(fs.rmSync) };
});

/** A file that is full, in a folder where nothing may be renamed unless that is said to be possible. */
function full({ closed }: { closed: boolean }): { file: string; folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-rotate-'));
  const file = join(folder, 'lines');
  writeFileSync(file, 'old\n');
  if (closed) {
    vi.mocked(renameSync).mockImplementation(() => {
      throw Object.assign(new Error('EACCES: permission denied, rename'), { code: 'EACCES' });
    });
  }
  onTestFinished(() => {
    vi.mocked(renameSync).mockRestore();
    rmSync(folder, { recursive: true });
  });
  return { file, folder };
}

test('a log file in a folder that is closed to mcpx goes on, which is told once', () => {
  const { file } = full({ closed: true });
  const said: string[] = [];
  const log = createLog({ file, maxBytes: 5, write: (line) => said.push(line) });
  log.info('one');
  log.info('two');
  expect(withoutTimes(readFileSync(file, 'utf8').replace('old\n', ''))).toBe('mcpx info: one\nmcpx info: two\n');
  expect(said.map(withoutTimes)).toEqual([
    'mcpx info: one\n',
    'mcpx warn: the log file is full, cannot be set aside and grows: EACCES: permission denied, rename\n',
    'mcpx info: two\n',
  ]);
});

test('so does an audit log', () => {
  const { file } = full({ closed: true });
  const complaints: string[] = [];
  const log = { error: (text: string) => complaints.push(text) };
  const audit = createAudit({ file, maxBytes: 5, values: false, log });
  for (const ok of [true, false]) {
    audit.hear({ type: 'reload', ok, message: '' });
    audit.close();
  }
  expect(readFileSync(file, 'utf8')).toMatch(/^old\n.*"ok":true}\n.*"ok":false}\n$/);
  expect(complaints).toEqual([
    `the audit log "${file}" is full, cannot be set aside and grows: EACCES: permission denied, rename`,
  ]);
});

test('where two processes set one file aside at the same moment, each goes on', () => {
  const { file, folder } = full({ closed: false });
  vi.mocked(renameSync).mockImplementationOnce((from, to) => {
    renameSync(from, join(folder, 'lines.20260101T000000000Z-1'));
    renameSync(from, to);
  });
  appendBounded(file, 'mine\n', { maxBytes: 5 });
  expect(readdirSync(folder)).toEqual(['lines', 'lines.20260101T000000000Z-1']);
  expect(readFileSync(file, 'utf8')).toBe('mine\n');
  // The other one removes what is old, a moment before.
  vi.mocked(rmSync).mockImplementationOnce((path, options) => {
    rmSync(path);
    rmSync(path, options);
  });
  appendBounded(file, 'more\n', { maxBytes: 5, keep: 1 });
  expect(readdirSync(folder)).toEqual(['lines', expect.not.stringContaining('20260101')]);
  expect(readFileSync(file, 'utf8')).toBe('more\n');
});
