/** The options of a typed command line, as its command reads them. */
import { createCli } from '../../src/cli/cli.ts';
import type { Flags } from '../../src/cli/command.ts';
import { flagsOf, forCac, readCommandLine } from '../../src/cli/command-line.ts';

export function typedFlags(...words: string[]): Flags {
  const cli = createCli({ stop: new AbortController().signal, atExit: () => undefined });
  cli.parse(['node', 'mcpx', ...forCac(readCommandLine(words))], { run: false });
  return flagsOf(cli.options);
}
