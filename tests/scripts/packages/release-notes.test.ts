/** The notes of a release come from CHANGELOG.md, and a version without notes is not released. */
import { expect, test } from 'vitest';
import { isPrerelease, releaseNotes } from '../../../scripts/packages/release-notes.mjs';

const changelog = [
  '# Changelog',
  '',
  '## Unreleased',
  '',
  '### Added',
  '',
  '- something',
  '  in two lines',
  '',
  '## 1.2.0 - 2026-01-02',
  '',
  '### Fixed',
  '',
  '- one',
  '- two',
  '',
  '## 1.2.0-rc.1 - 2026-01-01',
  '',
  '- first',
  '',
].join('\n');

test('the notes of a version are its part, without the title', () => {
  expect(releaseNotes('1.2.0', { changelog })).toBe('### Fixed\n\n- one\n- two\n');
  expect(releaseNotes('1.2.0-rc.1', { changelog })).toBe('- first\n');
});

test('wrapped lines are joined, because the page of a release keeps line breaks', () => {
  expect(releaseNotes('1.3.0', { changelog, draft: true })).toBe('### Added\n\n- something in two lines\n');
});

test('a version without a part is refused with what to write', () => {
  expect(() => releaseNotes('1.3.0', { changelog })).toThrow('CHANGELOG.md has nothing about 1.3.0');
});

test('the notes of the next version can be written from this checkout', () => {
  expect(releaseNotes('999.0.0', { draft: true })).toContain('### Added');
});

test('a version with a hyphen is a pre-release', () => {
  expect([isPrerelease('1.0.0'), isPrerelease('1.0.0-rc.1')]).toEqual([false, true]);
});
