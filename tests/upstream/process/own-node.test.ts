/** Which Node runs a script: the one that the server would find, else the one of this program. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { withOwnNode } from '../../../src/upstream/process/own-node.ts';
import type { LaunchOf } from '../../../src/upstream/transports/transport.ts';

const folder = mkdtempSync(join(tmpdir(), 'mcpx-own-node-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const EXECUTABLE = { execPath: '/opt/mcpx', isExecutable: true, platform: 'linux' as NodeJS.Platform };
const SCRIPT = { ...EXECUTABLE, execPath: '/opt/node/bin/node', isExecutable: false };

function written(name: string, text: string): string {
  const file = join(folder, name);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

function launch(
  command: string,
  args: string[] = [],
  env: Record<string, string> = { PATH: '/none' },
): LaunchOf<'stdio'> {
  return { type: 'stdio', command, args, env, cwd: folder, framing: 'newline' };
}

const started = (one: LaunchOf<'stdio'>, self = EXECUTABLE) => {
  const changed = withOwnNode(one, self);
  return changed && [changed.command, ...changed.args];
};

describe('without a Node on the PATH of the server', () => {
  test.each(['node', 'nodejs', 'node.exe', 'NODE'])('%s is the executable with its hidden command', (command) => {
    expect(started(launch(command, ['--no-warnings', 'a.js', 'x']))).toEqual([
      ...['/opt/mcpx', '__node', '--no-warnings', 'a.js', 'x'],
    ]);
  });

  test('node is the running Node where mcpx is a script', () => {
    expect(started(launch('node', ['a.js']), SCRIPT)).toEqual(['/opt/node/bin/node', 'a.js']);
  });

  test('everything else of the launch stays', () => {
    const one = launch('node', ['a.js'], { PATH: '/none', KEY: '1' });
    expect(withOwnNode(one, EXECUTABLE)).toEqual({ ...one, command: '/opt/mcpx', args: ['__node', 'a.js'] });
  });

  test.each([
    ['#!/usr/bin/env node\n', []],
    ['#!/usr/bin/env -S node --enable-source-maps\n', ['--enable-source-maps']],
    ['#! /none/bin/node\r\n', []],
  ])('a script that begins with %j is run by the executable', (line, options) => {
    const file = written('bin/server', `${line}console.log(1)`);
    expect(started(launch(file, ['x']))).toEqual(['/opt/mcpx', '__node', ...options, file, 'x']);
    expect(started(launch('server', ['x'], { PATH: join(folder, 'bin') }))).toEqual([
      ...['/opt/mcpx', '__node', ...options, file, 'x'],
    ]);
  });

  test.each([
    ['another interpreter', '#!/usr/bin/env python3\n'],
    ['a program with node in its name', '#!/usr/bin/env node-red\n'],
    ['no first line', 'console.log(1)'],
    ['an empty file', ''],
  ])('a file with %s is started as it is', (_, text) => {
    expect(started(launch(written('other', text)))).toBeUndefined();
  });

  test('a command that does not exist is left to the system', () => {
    expect(started(launch('/none/at/all'))).toBeUndefined();
    expect(started(launch('npx', ['-y', 'x']))).toBeUndefined();
    expect(started(launch('/none/bin/node', ['a.js']))).toBeUndefined();
  });

  test('on Windows, `cmd /c node` and a PATH in any case are understood', () => {
    const windows = { ...EXECUTABLE, execPath: 'C:\\mcpx.exe', platform: 'win32' as NodeJS.Platform };
    const at = { Path: 'C:\\none' };
    expect(started(launch('cmd', ['/c', 'node', 'a.js'], at), windows)).toEqual(['C:\\mcpx.exe', '__node', 'a.js']);
    expect(started(launch('cmd', ['/C', 'node.cmd', 'a.js'], at), windows)).toEqual(['C:\\mcpx.exe', '__node', 'a.js']);
    expect(started(launch('cmd', ['/c', 'npx', 'a'], at), windows)).toBeUndefined();
  });
});

describe.skipIf(process.platform === 'win32')('with a Node on the PATH of the server', () => {
  const bin = join(written('found/node', '#!/bin/sh\n'), '..');

  test('that one is used', () => {
    expect(started(launch('node', ['a.js'], { PATH: `/none:${bin}` }))).toBeUndefined();
    expect(started(launch(written('bin/server', '#!/usr/bin/env node\n'), [], { PATH: bin }))).toBeUndefined();
  });

  test('a folder named node, and a file that may not be executed, are no Node', () => {
    mkdirSync(join(folder, 'decoys/node'), { recursive: true });
    chmodSync(written('plain/node', ''), 0o644);
    const PATH = `${join(folder, 'decoys')}:${join(folder, 'plain')}`;
    expect(started(launch('node', ['a.js'], { PATH }))?.[1]).toBe('__node');
  });

  test('a relative folder of PATH begins where the server runs', () => {
    expect(started(launch('node', ['a.js'], { PATH: 'found' }))).toBeUndefined();
  });

  test('the path in a first line counts, not PATH', () => {
    const file = written('absolute', `#!${join(bin, 'node')}\n`);
    expect(started(launch(file))).toBeUndefined();
  });
});
