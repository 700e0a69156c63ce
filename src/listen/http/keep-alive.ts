/** Closes idle keep-alive connections with one shared timer; Node's own timeout needs two timers per request. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface IdleOptions {
  /** Returns the monotonic time in ms since which a connection is idle; undefined while a request is in progress. */
  since(socket: Socket): number | undefined;
  /**
   * Milliseconds; must be longer than the keep-alive of a reverse proxy, or the proxy would use a connection that is
   * being closed.
   */
  most?: number;
  /** Milliseconds between two checks. */
  look?: number;
}

/** Returns the function that stops the checks. */
export function closeIdle(server: Server, { since, most = 75_000, look = 5000 }: IdleOptions): () => void {
  const sockets = new Set<Socket>();
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const timer = setInterval(() => {
    const oldest = performance.now() - most;
    const isIdle = (socket: Socket) => (since(socket) ?? Number.POSITIVE_INFINITY) <= oldest;
    const idle = [...sockets].filter(isIdle);
    // After a stall of the event loop timers run first; `setImmediate` lets input that has arrived be read before the
    // check.
    setImmediate(() => {
      for (const socket of idle) if (isIdle(socket)) socket.destroy();
    });
  }, look).unref();
  return () => clearInterval(timer);
}
