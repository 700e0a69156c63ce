/** The lock file lets one build run at a time. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withLockFile } from '../../../scripts/release/lock-file.mjs';

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

describe('two builds at once', () => {
  it('take turns, say so, and leave no lock behind', async () => {
    const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    const file = join(root, 'build', '.lock');
    const order: string[] = [];
    let release = () => {};
    const first = withLockFile(file, async () => {
      order.push('first begins');
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      order.push('first ends');
    });
    const second = withLockFile(file, async () => order.push('second'));
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
    expect(await withLockFile(join(root, 'build', '.lock'), async () => 'done')).toBe('done');
  });
});
