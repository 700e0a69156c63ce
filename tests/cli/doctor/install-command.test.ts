/** The commands that install the programs of servers, and the folders where programs hide. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { installCommand } from '../../../src/cli/doctor/install-command.ts';
import { desktopPath, findElsewhere } from '../../../src/cli/doctor/program-search.ts';

const world = (platform: NodeJS.Platform, env: Record<string, string> = {}, home = '/home/ada') => ({
  platform,
  env,
  home,
});

test.each<[NodeJS.Platform, string, string | undefined]>([
  ['darwin', 'uvx', 'brew install uv'],
  ['darwin', 'docker', 'brew install --cask docker'],
  ['win32', 'npx', 'winget install OpenJS.NodeJS.LTS'],
  ['win32', 'frobnicate', undefined],
])('on %s, %s is installed with %j', (platform, name, command) => {
  expect(installCommand(name, world(platform))).toBe(command);
});

test.each<[NodeJS.Platform, Record<string, string>, boolean]>([
  ['darwin', {}, true],
  ['linux', { DISPLAY: ':0' }, true],
  ['linux', {}, false],
  ['win32', {}, false],
])('on %s with %j, applications have a PATH of their own: %j', (platform, env, has) => {
  expect(desktopPath(world(platform, env)) !== undefined).toBe(has);
});

test.skipIf(process.platform === 'win32')('the newest Node of nvm is found (needs POSIX modes)', () => {
  const home = mkdtempSync(join(tmpdir(), 'mcpx-nvm-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  for (const version of ['v9.1.0', 'v22.3.0', 'v20.1.0']) {
    const file = join(home, '.nvm', 'versions', 'node', version, 'bin', 'hidden-program');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '');
    chmodSync(file, 0o755);
  }
  expect(findElsewhere('hidden-program', world(process.platform, {}, home))).toContain('v22.3.0');
  expect(findElsewhere('no-such-program-here', world(process.platform, {}, home))).toBeUndefined();
});
