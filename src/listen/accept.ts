/** Accepts new connections also while many requests arrive: a turn of the event loop that accepts a connection serves few requests. */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that one turn serves while connections are being accepted. */
const PER_TURN = 8;

/**
 * libuv accepts one connection per turn of the event loop, and a turn reads every socket that has something to read: with 500 busy
 * clients, 500 requests could be served for each connection accepted. Here the others wait for the next turns, which accept as well.
 * Returns the function that takes every request: it calls `serve` at once, or in one of the next turns, in the order of arrival.
 */
export function shareWithAccept<Arrival extends { request: IncomingMessage }>(
  server: Server,
  serve: (arrival: Arrival) => void,
): (arrival: Arrival) => void {
  /** At most one request of a connection, so that the number of connections bounds this. */
  const waiting = new Map<Socket, Arrival>();
  let left = Number.POSITIVE_INFINITY;
  let accepted = false;

  const serveWaiting = (socket: Socket, arrival: Arrival) => {
    waiting.delete(socket);
    // Its client left while it waited.
    if (!arrival.request.destroyed) serve(arrival);
  };
  const endOfTurn = () => {
    left = accepted ? PER_TURN : Number.POSITIVE_INFINITY;
    if (accepted) setImmediate(endOfTurn);
    accepted = false;
    for (const [socket, arrival] of waiting) {
      if (left <= 0) return;
      left -= 1;
      serveWaiting(socket, arrival);
    }
  };
  server.on('connection', () => {
    accepted = true;
    if (left !== Number.POSITIVE_INFINITY) return;
    left = PER_TURN;
    setImmediate(endOfTurn);
  });

  return (arrival) => {
    const { socket } = arrival.request;
    if (left === Number.POSITIVE_INFINITY) return serve(arrival);
    const earlier = waiting.get(socket);
    if (earlier !== undefined) {
      // Requests of one connection are served in their order.
      serveWaiting(socket, earlier);
      return serve(arrival);
    }
    if (left > 0 && waiting.size === 0) {
      left -= 1;
      return serve(arrival);
    }
    waiting.set(socket, arrival);
  };
}
