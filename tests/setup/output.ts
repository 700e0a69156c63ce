/** What a command writes in this process, for tests of the command line. */
import { afterEach, beforeEach, vi } from 'vitest';

/** Takes stdout and stderr over for the tests of a file; both are empty before each test. */
export function captureOutput(): { stdout: string; stderr: string } {
  const shown = { stdout: '', stderr: '' };
  beforeEach(() => {
    for (const name of ['stdout', 'stderr'] as const) {
      shown[name] = '';
      const write = (text: string, done?: () => void) => {
        shown[name] += text;
        done?.();
        return true;
      };
      vi.spyOn(process[name], 'write').mockImplementation(write as typeof process.stdout.write);
    }
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });
  return shown;
}
