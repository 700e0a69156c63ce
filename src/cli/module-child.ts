/** The hidden command `__module <file>`: serves the tools of one local file on stdio to the mcpx process that started it. */
import { EXIT_CODES } from '../errors.ts';
import { serveModule } from '../upstream/transports/module-server.ts';
import type { Lifecycle } from './command.ts';
import { takeStdout } from './output.ts';

export async function run([file]: string[], { stop }: Pick<Lifecycle, 'stop'>): Promise<number> {
  if (file === undefined) return EXIT_CODES.usage;
  await serveModule({ file, input: process.stdin, output: takeStdout(), stop });
  return 0;
}
