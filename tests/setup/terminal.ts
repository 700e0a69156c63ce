/** A command line as somebody would type it, run in this process, with what a terminal would show. */
import { vi } from 'vitest';
import { runCli } from '../../src/cli/cli.ts';

export interface Shown {
  code: number;
  /** stdout and stderr, in the order they were written. */
  text: string;
}

/** `until` ends a command that keeps running, as Ctrl-C does, once that text is shown. */
export async function typeLine(line: string, until?: string): Promise<Shown> {
  const [program, ...words] = shellWords(line);
  if (program !== 'mcpx') throw new Error(`not a command of mcpx: ${line}`);
  const stop = new AbortController();
  let text = '';
  const write = (chunk: unknown, ...rest: unknown[]) => {
    text += String(chunk);
    if (until !== undefined && text.includes(until)) stop.abort();
    const done = rest.find((one) => typeof one === 'function');
    if (typeof done === 'function') done();
    return true;
  };
  const spies = [process.stdout, process.stderr].map((stream) => vi.spyOn(stream, 'write').mockImplementation(write));
  try {
    const code = await runCli({ words, stdinIsTerminal: true, stop: stop.signal, atExit: () => undefined });
    return { code, text: text.trimEnd() };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** Words as a POSIX shell splits them; quotes only, nothing is expanded. */
export function shellWords(line: string): string[] {
  const words = line.match(/(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/g) ?? [];
  return words.map((word) =>
    word.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, (_, single, double, escaped) => single ?? double ?? escaped),
  );
}
