/** Opens a URL in the user's browser, without a shell. */
import { spawn } from 'node:child_process';
import { type Environment, environmentOf, lookup } from '../config/environment.ts';

/** Returns the program that opens a URL on this system; undefined if there is no screen. */
export function browserCommand(world: Pick<Environment, 'env' | 'platform'> = environmentOf()): string[] | undefined {
  const { platform } = world;
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  const remote = lookup('SSH_CONNECTION', world) ?? lookup('SSH_TTY', world);
  const screen = lookup('DISPLAY', world) ?? lookup('WAYLAND_DISPLAY', world);
  return screen === undefined || remote !== undefined ? undefined : ['xdg-open'];
}

/** Resolves with true if a program was started. Only http and https URLs are opened. */
export async function openBrowser(url: string, command = browserCommand()): Promise<boolean> {
  const { protocol, href } = new URL(url);
  if (command === undefined || (protocol !== 'https:' && protocol !== 'http:')) return false;
  const [program = '', ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, [...args, href], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
