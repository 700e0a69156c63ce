import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { processGroup } from '../../../src/upstream/process/process-group.ts';
import { cleanup, until } from '../world.ts';

describe('a process group', () => {
  test('that is gone is never signalled again', async () => {
    const child = spawn(process.execPath, ['-e', ''], { detached: true, stdio: 'ignore' });
    await new Promise((resolve) => child.once('exit', resolve));
    const group = processGroup(child.pid ?? 0);
    await until(() => !group.alive());
    const kill = vi.spyOn(process, 'kill');
    cleanup(() => kill.mockRestore());
    group.terminate();
    group.kill();
    group.killNow();
    expect(group.alive()).toBe(false);
    expect(kill).not.toHaveBeenCalled();
  });

  test('whose members belong to somebody else is alive', () => {
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' });
    });
    cleanup(() => kill.mockRestore());
    expect(processGroup(4_000_000).alive()).toBe(true);
  });
});

describe('a process tree on Windows', () => {
  test('is ended by taskkill, with all below it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcpx-taskkill-'));
    const calls = join(folder, 'calls');
    writeFileSync(join(folder, 'taskkill'), `#!/bin/sh\necho "$@" >> ${calls}\n`);
    chmodSync(join(folder, 'taskkill'), 0o755);
    vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`);
    cleanup(() => vi.unstubAllEnvs());
    const tree = processGroup(4_000_000, 'win32');
    expect(tree.alive()).toBe(false);
    expect(processGroup(process.pid, 'win32').alive()).toBe(true);
    tree.killNow();
    expect(readFileSync(calls, 'utf8')).toBe('/pid 4000000 /T /F\n');
    tree.terminate();
    tree.kill();
    await until(() => readFileSync(calls, 'utf8').split('\n').length === 4);
  });

  test('is no trouble without taskkill', () => {
    vi.stubEnv('PATH', '');
    cleanup(() => vi.unstubAllEnvs());
    const tree = processGroup(4_000_000, 'win32');
    expect(() => tree.kill()).not.toThrow();
    expect(() => tree.killNow()).not.toThrow();
  });
});
