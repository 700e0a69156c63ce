/** Captures the output of a command in this process, for tests of the command line. */
import { afterEach, beforeEach, vi } from 'vitest';

type Stream = 'stdout' | 'stderr';

/** Takes stdout and stderr over for the tests of a file; both are empty before each test. A line that comes after its test is dropped, also after the last one. */
export function captureOutput(): { stdout: string; stderr: string } {
  const shown = { stdout: '', stderr: '' };
  const intercept = (take: (name: Stream, text: string) => void) => {
    for (const name of ['stdout', 'stderr'] as const) {
      const write = (text: string, done?: () => void) => {
        take(name, text);
        done?.();
        return true;
      };
      vi.spyOn(process[name], 'write').mockImplementation(write as typeof process.stdout.write);
    }
  };
  beforeEach(() => {
    Object.assign(shown, { stdout: '', stderr: '' });
    vi.restoreAllMocks();
    intercept((name, text) => {
      shown[name] += text;
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
    intercept(() => undefined);
  });
  return shown;
}
