/** The limit of open files, as this process sees it. */
import { expect, test } from 'vitest';
import { canOpen, handleLimit, isOutOfHandles } from '../src/file-handles.ts';

test.skipIf(process.platform !== 'linux')('both ways to learn the limit of open files agree', () => {
  const limit = handleLimit('linux');
  expect(limit).toBeGreaterThan(16);
  expect(handleLimit('darwin')).toBe(limit);
});

test('Windows has no limit of open files that would be known', () => {
  expect([handleLimit('win32'), canOpen(1e9, 'win32')]).toEqual([undefined, true]);
});

test('a few files can be opened, again and again', () => {
  expect([1, 2, 3].map(() => canOpen(4))).toEqual([true, true, true]);
});

test('a failure for want of handles is told from others', () => {
  const failure = (code: string) => Object.assign(new Error(code), { code });
  expect(['EMFILE', 'ENFILE', 'ENOENT'].map((code) => isOutOfHandles(failure(code)))).toEqual([true, true, false]);
});
