/** Connections that wait for another request are closed after a while. Looked at together: Node's own way costs each request two timers and a header. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface IdleOptions {
  /** Since when a connection waits, monotonic ms; undefined while a request is under way on it. */
  since(socket: Socket): number | undefined;
  /** ms; longer than a proxy keeps its own, or it would send a request into a connection that is just being closed. */
  most?: number;
  /** ms between two looks. */
  look?: number;
}

/** Returns what ends it. */
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
    // After a stall timers come first: what arrived in the meantime is read before this.
    setImmediate(() => {
      for (const socket of idle) if (isIdle(socket)) socket.destroy();
    });
  }, look).unref();
  return () => clearInterval(timer);
}
