/** Returns the command that starts this program again: the executable, or node with the bundle. */
import { isSea } from 'node:sea';

export function selfCommand(): { command: string; args: string[] } {
  const script = process.argv[1];
  if (isSea() || script === undefined) return { command: process.execPath, args: [] };
  return { command: process.execPath, args: [script] };
}

/** Returns the command as a user types it. */
export function selfTyped(): string {
  return isSea() ? (process.argv[1] ?? 'mcpx') : `node ${process.argv[1]}`;
}
