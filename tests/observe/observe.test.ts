/** Log lines and call counts. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createStats } from '../../src/observe/call-counts.ts';
import { createLog, type LogOptions } from '../../src/observe/log.ts';
import { withoutTimes } from '../setup/log-lines.ts';

function lines(options: LogOptions, act: (log: ReturnType<typeof createLog>) => void): string[] {
  const written: string[] = [];
  act(createLog({ ...options, write: (line) => written.push(line) }));
  return options.format === 'json' ? written : written.map(withoutTimes);
}

test('a text line has the time, the level, the message and the fields', () => {
  expect(lines({}, (log) => log.info('ready', { server: 'a b', tools: 3, none: undefined }))).toEqual([
    'mcpx info: ready server="a b" tools=3\n',
  ]);
});

test('what comes from outside forges no line and moves no cursor', () => {
  const name = 'x"\nmcpx error: forged\u001b[2J\u0000\u202e\u200b\u{e0041}';
  const [line = ''] = lines({}, (log) => log.warn(`no tool "${name}"`, { server: 'a\u001b[31m', path: 'b\nc' }));
  expect(line).toBe(
    'mcpx warn: no tool "x"\n  mcpx error: forged\\u001b[2J\\u0000\\u202e\\u200b\\udb40\\udc41" server=a\\u001b[31m path="b\\nc"\n',
  );
  const [json = ''] = lines({ format: 'json' }, (log) => log.warn(name));
  expect([json.split('\n').length, JSON.parse(json).message]).toEqual([2, name]);
});

test('a JSON line is one JSON object', () => {
  const [line = ''] = lines({ format: 'json' }, (log) => log.warn('slow', { ms: 5 }));
  expect(JSON.parse(line)).toMatchObject({ level: 'warn', message: 'slow', ms: 5, time: expect.any(String) });
});

test('lines of one moment are one write, and a failure is written at once with what came before', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const seen: number[] = [];
  const written: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  const log = createLog();
  log.info('one');
  log.info('two');
  seen.push(written.length);
  log.error('three');
  seen.push(written.length);
  log.info('four');
  vi.advanceTimersByTime(100);
  expect(seen).toEqual([0, 1]);
  expect(written.map(withoutTimes)).toEqual([
    'mcpx info: one\nmcpx info: two\nmcpx error: three\n',
    'mcpx info: four\n',
  ]);
  expect(process.listeners('exit').filter(({ name }) => name === 'flush')).toEqual([]);
});

test('lower levels are left out', () => {
  const all = (log: ReturnType<typeof createLog>) => {
    log.error('e');
    log.warn('w');
    log.info('i');
    log.debug('d');
  };
  expect(lines({ level: 'warn' }, all)).toHaveLength(2);
  expect(lines({ level: 'silent' }, all)).toEqual([]);
  expect(lines({ level: 'debug' }, all)).toHaveLength(4);
});

test('lines also go to the file, and a file that cannot be written is no failure, and told once', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-log-')), 'mcpx.log');
  lines({ file }, (log) => log.info('kept'));
  expect(withoutTimes(readFileSync(file, 'utf8'))).toBe('mcpx info: kept\n');
  const told = lines({ file: join(file, 'not-a-folder') }, (log) => {
    log.info('still');
    log.info('there');
  });
  expect(told).toEqual([
    'mcpx info: still\n',
    expect.stringMatching(/^mcpx warn: the log file cannot be written: .*not-a-folder.*\n$/),
    'mcpx info: there\n',
  ]);
});

test('a full file of lines is set aside, and only so many are kept', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-log-'));
  const file = join(folder, 'mcpx.log');
  // Rotated files have the time in their name.
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  lines({ file, maxBytes: 100, keep: 2 }, (log) => {
    for (let index = 0; index < 50; index += 1) {
      vi.advanceTimersByTime(1);
      log.info(`line ${index}`);
    }
  });
  const names = readdirSync(folder);
  expect([names.length, names.includes('mcpx.log')]).toEqual([3, true]);
  expect(readFileSync(file, 'utf8')).toContain('line 49\n');
  expect(readFileSync(file).length).toBeLessThanOrEqual(100);
});

test('calls are counted, failures too, and what is denied is not', () => {
  const stats = createStats();
  for (const outcome of ['ok', 'tool_error', 'refused', 'denied'] as const) stats.record({ outcome });
  expect(stats.snapshot()).toEqual({ calls: 3, errors: 2 });
});
