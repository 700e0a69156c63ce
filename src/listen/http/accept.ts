/** Limits the requests per event loop turn while connections are accepted, so that new connections do not starve. */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum requests served per turn while connections are accepted. */
const PER_TURN = 8;

/**
 * Returns a function that calls `serve` for a request at once or in one of the next turns, in the order of arrival.
 * libuv accepts one connection per turn of the event loop, and a turn reads every readable socket: with 500 busy
 * clients, 500 requests could be served for each accepted connection. Requests beyond the limit wait for the next
 * turns, each of which accepts a connection.
 */
export function shareWithAccept<Arrival extends { request: IncomingMessage }>(
  server: Server,
  serve: (arrival: Arrival) => void,
): (arrival: Arrival) => void {
  /** Waiting requests, at most one per connection, so that the number of connections is the bound. */
  const waiting = new Map<Socket, Arrival>();
  let left = Number.POSITIVE_INFINITY;
  let accepted = false;

  const serveWaiting = (socket: Socket, arrival: Arrival) => {
    waiting.delete(socket);
    // The client may have disconnected in the meantime.
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
