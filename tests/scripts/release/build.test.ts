/** The targets that `npm run build` builds and the names of its files. */
import { describe, expect, it } from 'vitest';
import { executableName, expectedVersionLine, hostTarget, TARGETS } from '../../../scripts/project.mjs';
import { chosenTargets } from '../../../scripts/release/build.mjs';

describe('npm run build', () => {
  it.each([
    [[], 'linux-x64', ['linux-x64']],
    [['win-x64', 'win-x64'], 'linux-x64', ['win-x64']],
    [['all', 'win-x64'], 'linux-x64', TARGETS],
  ])('with targets %j on %s builds %j', (names, host, expected) => {
    expect(chosenTargets(names, host)).toEqual(expected);
  });

  it('refuses a target that it does not know, and lists those it does', () => {
    expect(() => chosenTargets(['amiga'])).toThrow(/no target "amiga"; there are linux-x64, .* and all/);
  });

  it.each([
    ['linux-x64', false, 'mcpx'],
    ['win-x64', false, 'mcpx.exe'],
    ['darwin-x64', true, 'mcpx-darwin-x64'],
    ['win-arm64', true, 'mcpx-win-arm64.exe'],
  ])('calls the executable for %s (named: %s) %s', (target, named, expected) => {
    expect(executableName(target, { named })).toBe(expected);
  });

  it.each([
    ['win32', 'x64', 'win-x64'],
    ['darwin', 'arm64', 'darwin-arm64'],
    ['linux', 'arm64', 'linux-arm64'],
  ])('on %s %s expects the version line of %s', (platform, arch, target) => {
    expect(hostTarget(platform, arch)).toBe(target);
    expect(expectedVersionLine(target, '24.1.2')).toMatch(
      new RegExp(`^mcpx/\\d\\S* ${platform}-${arch} node-v24\\.1\\.2$`),
    );
  });
});
