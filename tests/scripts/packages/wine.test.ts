/** The decision whether this machine can run the Windows executable. */
import { expect, test } from 'vitest';
import { wineProblem } from '../../../scripts/packages/wine.mjs';
import { hostTarget } from '../../../scripts/project.mjs';

test.runIf(hostTarget() === 'linux-x64').each([
  ['wine-10.0 (Debian 10.0~repack-6)\n', undefined],
  ['it looks like wine32 is missing\nwine-11.2\n', undefined],
  ['wine-8.0 (Debian 8.0~repack-4)\n', 'Wine 8 is too old, it has to be 10 or later'],
  ['', 'Wine is not installed'],
])('on Linux x64, the output %j of wine --version is understood', (said, problem) => {
  expect(wineProblem(said)).toBe(problem);
});
