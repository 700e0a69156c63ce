/** stderr as JSON lines, whoever writes it. */
import { expect, test } from 'vitest';
import { writeStderrAsJson } from '../../src/cli/json-stderr.ts';

/** The lines that reach stderr for these writes. */
function linesOf(...chunks: (string | Uint8Array)[]): string[] {
  const written: string[] = [];
  const stderr = { write: (text: string | Uint8Array) => written.push(String(text)) > 0 };
  writeStderrAsJson(stderr as Pick<NodeJS.WriteStream, 'write'>);
  for (const chunk of chunks) stderr.write(chunk);
  return written
    .join('')
    .split('\n')
    .filter((line) => line !== '');
}

test('notices, warnings, errors and hints become lines with a level and a time', () => {
  const said = linesOf(
    'mcpx: listening\n',
    '\u001b[33mwarning:\u001b[39m odd\n',
    'error: broken\n\nhint: mend it\n',
    'x\n',
  );
  expect(said.map((line) => JSON.parse(line))).toEqual([
    { time: expect.any(String), level: 'info', message: 'listening' },
    { time: expect.any(String), level: 'warn', message: 'odd' },
    { time: expect.any(String), level: 'error', message: 'broken' },
    { time: expect.any(String), level: 'info', message: 'hint: mend it' },
    { time: expect.any(String), level: 'info', message: 'x' },
  ]);
});

test('lines of the log pass unchanged, and a line may come in pieces', () => {
  const line = '{"time":"t","level":"info","message":"ready"}';
  expect(linesOf(`${line}\n`, line.slice(0, 9), Buffer.from(`${line.slice(9)}\n`))).toEqual([line, line]);
  expect(JSON.parse(linesOf('{ not JSON\n')[0] ?? '')).toMatchObject({ message: '{ not JSON' });
});
