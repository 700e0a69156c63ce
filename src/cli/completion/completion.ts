/** `mcpx completion <shell>`: prints the completion script of a shell; on a terminal, also how to install it. */
import { McpxError } from '../../errors.ts';
import { nearest } from '../../render/text.ts';
import type { Invocation } from '../command.ts';
import { isOnTerminal, note, print } from '../output.ts';
import { INSTALL, SCRIPTS } from './shell-scripts.ts';
import { SHELLS } from './shell-words.ts';

export async function run({ args: [name = ''] }: Pick<Invocation, 'args'>): Promise<number> {
  const shell = SHELLS.find((one) => one === name.toLowerCase());
  if (shell === undefined) {
    const [close] = nearest(name, SHELLS);
    throw new McpxError('usage', `there is no completion for "${name}"`, {
      hint: close === undefined ? `use one of ${SHELLS.join(', ')}` : `mcpx completion ${close}`,
    });
  }
  await print(SCRIPTS[shell]);
  if (isOnTerminal()) note(`\nto install it: ${INSTALL[shell]}`);
  return 0;
}
