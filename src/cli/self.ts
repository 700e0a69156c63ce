/** How to start this very program again: the executable, or node with the bundle. */
import { isSea } from 'node:sea';

export function selfCommand(): { command: string; args: string[] } {
  const script = process.argv[1];
  if (isSea() || script === undefined) return { command: process.execPath, args: [] };
  return { command: process.execPath, args: [script] };
}

/** The same as somebody would type it: the name it was started by. */
export function selfTyped(): string {
  return isSea() ? (process.argv[1] ?? 'mcpx') : `node ${process.argv[1]}`;
}
