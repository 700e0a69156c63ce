/** Log lines and call counts. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLog, type LogOptions } from '../../src/observe/log.ts';
import { createStats } from '../../src/observe/stats.ts';

function lines(options: LogOptions, act: (log: ReturnType<typeof createLog>) => void): string[] {
  const written: string[] = [];
  act(createLog({ ...options, write: (line) => written.push(line) }));
  return written;
}

test('a text line has the level, the message and the fields', () => {
  expect(lines({}, (log) => log.info('ready', { server: 'a b', tools: 3, none: undefined }))).toEqual([
    'mcpx info: ready server="a b" tools=3\n',
  ]);
});

test('a JSON line is one JSON object', () => {
  const [line = ''] = lines({ format: 'json' }, (log) => log.warn('slow', { ms: 5 }));
  expect(JSON.parse(line)).toMatchObject({ level: 'warn', message: 'slow', ms: 5, time: expect.any(String) });
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

test('lines also go to the file, and a file that cannot be written is no failure', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-log-')), 'mcpx.log');
  lines({ file }, (log) => log.info('kept'));
  expect(readFileSync(file, 'utf8')).toBe('mcpx info: kept\n');
  expect(lines({ file: join(file, 'not-a-folder') }, (log) => log.info('still'))).toHaveLength(1);
});

test('calls are counted per server, failures too', () => {
  const stats = createStats();
  stats.record({ server: 'a', ms: 1.4, outcome: 'ok' });
  stats.record({ server: 'a', ms: 2.2, outcome: 'tool_error' });
  stats.record({ server: 'b', ms: 1, outcome: 'refused' });
  expect(stats.snapshot()).toEqual({
    calls: 3,
    errors: 2,
    servers: { a: { calls: 2, errors: 1, ms: 4 }, b: { calls: 1, errors: 1, ms: 1 } },
  });
});
