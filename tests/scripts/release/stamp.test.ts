/** A build is skipped if its inputs and outputs are unchanged. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashInputs, isFresh, writeStamp } from '../../../scripts/release/stamp.mjs';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'mcpx-skip-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, content: unknown): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}

describe('the hash of the inputs', () => {
  beforeEach(() => {
    write('src/main.ts', 'a');
    write('src/wire/peer.ts', 'b');
    write('package.json', '{}');
  });

  it('stays when nothing changes, and when files change that no build reads', () => {
    const before = hashInputs(root);
    write('README.md', 'words');
    write('tests/x.test.ts', 'test');
    write('dist/mcpx', 'binary');
    expect(hashInputs(root)).toBe(before);
  });

  it.each<[string, () => void]>([
    ['a source file changes', () => write('src/wire/peer.ts', 'c')],
    ['a source file appears', () => write('src/new.ts', '')],
    ['a source file disappears', () => rmSync(join(root, 'src/main.ts'))],
    ['a build script changes', () => write('scripts/release/sea.mjs', 'x')],
    ['a package changes', () => write('package-lock.json', '{"a":1}')],
    ['two files swap their contents', () => [write('src/main.ts', 'b'), write('src/wire/peer.ts', 'a')]],
  ])('changes when %s', (_name, change) => {
    const before = hashInputs(root);
    change();
    expect(hashInputs(root)).not.toBe(before);
  });

  it('changes with the tools of the machine', () => {
    expect(hashInputs(root, ['strip 2.40'])).not.toBe(hashInputs(root, ['strip 2.41']));
  });
});

describe('a build', () => {
  const stamp = () => writeStamp(join(root, 'dist'), 'host', { inputs: 'i1', outputs: ['mcpx'] });

  beforeEach(() => {
    write('dist/mcpx', 'binary');
    stamp();
  });

  it('is skipped when inputs and outputs are as it left them', () => {
    expect(isFresh(join(root, 'dist'), 'host', 'i1')).toBe(true);
  });

  it.each<[string, string, string, () => void]>([
    ['the inputs changed', 'host', 'i2', () => {}],
    ['it was never made', 'win-x64', 'i1', () => {}],
    ['an output is gone', 'host', 'i1', () => rmSync(join(root, 'dist/mcpx'))],
    ['an output was altered', 'host', 'i1', () => write('dist/mcpx', 'binarz')],
  ])('is not skipped when %s', (_name, name, inputs, change) => {
    change();
    expect(isFresh(join(root, 'dist'), name, inputs)).toBe(false);
  });
});
