/** The arguments that `npm start` passes on, and its exit code. */
import { describe, expect, it } from 'vitest';
import { mcpxArguments, runForeground } from '../../scripts/start.mjs';

describe('npm start', () => {
  it.each([
    [[], ['demo']],
    [
      ['--port', '4000'],
      ['demo', '--port', '4000'],
    ],
    [
      ['tools', '-s', 'time'],
      ['tools', '-s', 'time'],
    ],
  ])('with %j runs mcpx %j', (args, expected) => {
    expect(mcpxArguments(args)).toEqual(expected);
  });

  it('ends with the exit code of the program', async () => {
    expect(await runForeground(process.execPath, ['-e', 'process.exit(7)'])).toBe(7);
  });

  it.skipIf(process.platform === 'win32')('ends with 128 + n when signal n ended the program', async () => {
    expect(await runForeground(process.execPath, ['-e', 'process.kill(process.pid, "SIGKILL")'])).toBe(137);
  });
});
