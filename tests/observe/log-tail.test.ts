/** The last lines of logs, and following them over a rotation. */
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { followFiles, lastLines } from '../../src/observe/log-tail.ts';
import { until } from '../setup/until.ts';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'mcpx-tail-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join('');

test.each([
  [0, []],
  [1, ['line 3']],
  [3, ['line 1', 'line 2', 'line 3']],
  [9, ['line 1', 'line 2', 'line 3']],
])('the last %i lines', (count, lines) => {
  const file = join(folder(), 'a.log');
  writeFileSync(file, numbered(1, 3));
  expect(lastLines(file, count).lines).toEqual(lines);
});

test('lines that fill many chunks are read from the end, and a character in two chunks stays whole', () => {
  const file = join(folder(), 'a.log');
  writeFileSync(file, Array.from({ length: 40_000 }, (_, index) => `${index} 汉字\n`).join(''));
  const { lines } = lastLines(file, 30_000);
  expect(lines).toHaveLength(30_000);
  expect(lines[0]).toBe('10000 汉字');
  expect(lines.join('')).not.toContain('\ufffd');
});

test('earlier files fill up what the newest lacks, in both ways to rotate', () => {
  const file = join(folder(), 'a.log');
  writeFileSync(`${file}.20260101T000000000Z-9`, numbered(1, 2));
  writeFileSync(`${file}.20260102T000000000Z-8`, numbered(3, 4));
  writeFileSync(file, numbered(5, 5));
  expect(lastLines(file, 4).lines).toEqual(['line 2', 'line 3', 'line 4', 'line 5']);
  const other = join(folder(), 'b.log');
  writeFileSync(`${other}.1`, numbered(1, 2));
  expect(lastLines(other, 5).lines).toEqual(['line 1', 'line 2']);
});

test('following loses no line over a rotation, waits for whole lines, and finds new files', async () => {
  const place = folder();
  const [file, other] = [join(place, 'a.log'), join(place, 'b.log')];
  writeFileSync(file, 'old\nhalf');
  const { lines, end } = lastLines(file, 10);
  expect(lines).toEqual(['old']);
  const heard: string[] = [];
  const stop = new AbortController();
  const files = () =>
    new Map([
      ['a', file],
      ['b', other],
    ]);
  const over = followFiles({
    files,
    shown: new Map([['a', end]]),
    stop: stop.signal,
    line: (source, line) => void heard.push(`${source}: ${line}`),
  });
  appendFileSync(file, ' done\n');
  await until(() => heard.includes('a: half done'));
  appendFileSync(file, 'last before\n');
  renameSync(file, `${file}.1`);
  writeFileSync(file, 'first after\n');
  writeFileSync(other, 'new file\n');
  await until(() => heard.includes('b: new file') && heard.includes('a: first after'));
  expect(heard.filter((line) => line.startsWith('a'))).toEqual(['a: half done', 'a: last before', 'a: first after']);
  stop.abort();
  await over;
});
