/** The command that starts npm. */
import { describe, expect, it } from 'vitest';
import { npmCommand } from '../../scripts/npm.mjs';

describe('npm', () => {
  it('is the one that started us, without a shell', () => {
    const cli = '/usr/lib/node_modules/npm/bin/npm-cli.js';
    expect(npmCommand({ npm_execpath: cli }, 'win32')).toEqual({
      command: process.execPath,
      args: [cli],
      shell: false,
    });
  });

  it('is looked up otherwise, on Windows through a shell', () => {
    expect(npmCommand({}, 'linux')).toEqual({ command: 'npm', args: [], shell: false });
    expect(npmCommand({ npm_execpath: '/x/yarn.js' }, 'win32')).toEqual({ command: 'npm.cmd', args: [], shell: true });
  });
});
