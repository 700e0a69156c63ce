/** Listens on an address; an error names the reason and a hint. */
import type { Server } from 'node:http';
import { McpxError } from '../../errors.ts';

/**
 * Length of the accept queue, if the system allows it. The system ignores connections beyond it, and their clients
 * retry only after seconds.
 */
const BACKLOG = 4096;

export function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(bindError(error, host, port)));
    server.listen({ host, port, backlog: BACKLOG }, resolve);
  });
}

/** Hints for a port or an address that cannot be bound, by system error code. */
const BIND_HINTS = new Map<string | undefined, (port: number) => string>([
  ['EADDRINUSE', (port) => `add ${port < 65_535 ? `--port ${port + 1}, or ` : ''}--port 0 to take any free one`],
  ['EACCES', () => 'take a port above 1023, as --port 3095'],
  ['EADDRNOTAVAIL', () => 'listen on an address of this machine, as --host 127.0.0.1'],
  ['ENOTFOUND', () => 'listen on an address of this machine, as --host 127.0.0.1'],
]);

function bindError(error: NodeJS.ErrnoException, host: string, port: number): McpxError {
  const why =
    error.code === 'EADDRINUSE'
      ? `port ${port} on ${host} is taken`
      : `cannot listen on ${host}:${port}: ${error.message}`;
  return new McpxError('failed', why, { hint: BIND_HINTS.get(error.code)?.(port), cause: error });
}
