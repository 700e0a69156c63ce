/** What makes `npm start` and `npm test` quick the second time: installs and builds that are skipped when nothing changed. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ensureInstalled, installState } from '../../scripts/setup.mjs';
import { hashInputs, isFresh, writeStamp } from '../../scripts/stamp.mjs';
import { inTurn } from '../../scripts/turn.mjs';

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
    ['a build script changes', () => write('scripts/sea.mjs', 'x')],
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

describe('an installation', () => {
  const lock = (version: string) => ({
    packages: { '': {}, 'node_modules/a': { version }, 'node_modules/native': { version: '1.0.0', optional: true } },
  });

  beforeEach(() => write('package-lock.json', lock('1.0.0')));

  it('is needed in a fresh checkout', () => {
    expect(installState(root)).toBe('missing');
  });

  it('made by hand is found and remembered, without optional packages for other machines', async () => {
    write('node_modules/.package-lock.json', { packages: { 'node_modules/a': { version: '1.0.0' } } });
    expect(installState(root)).toBe('record');
    await ensureInstalled(root);
    expect(installState(root)).toBe('stamp');
  });

  it('is needed again when the lockfile asks for another version', async () => {
    write('node_modules/.package-lock.json', { packages: { 'node_modules/a': { version: '1.0.0' } } });
    await ensureInstalled(root);
    write('package-lock.json', lock('1.0.1'));
    expect(installState(root)).toBe('missing');
  });
});

describe('two builds at once', () => {
  it('take turns, say so, and leave no lock behind', async () => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const file = join(root, 'build', '.lock');
    const order: string[] = [];
    let release = () => {};
    const first = inTurn(file, async () => {
      order.push('first begins');
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      order.push('first ends');
    });
    const second = inTurn(file, async () => order.push('second'));
    expect(readFileSync(file, 'utf8')).toBe(String(process.pid));
    release();
    await Promise.all([first, second]);
    for (const [text] of said.mock.calls) expect(text).toBe(`wait      for the build of process ${process.pid}\n`);
    said.mockRestore();
    expect(order).toEqual(['first begins', 'first ends', 'second']);
    expect(() => readFileSync(file)).toThrow('ENOENT');
  });

  it('do not wait for one that died', async () => {
    // Above the largest process id that Linux gives out.
    write('build/.lock', '2147483647');
    expect(await inTurn(join(root, 'build', '.lock'), async () => 'done')).toBe('done');
  });
});
