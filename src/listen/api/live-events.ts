/** Serves `GET /api/events`, a live stream of the events that a token may see, and `GET /metrics`. */

import { gauge } from '../../observe/metrics.ts';
import { CONTENT_TYPE, prometheusText } from '../../observe/prometheus.ts';
import { payerOf } from '../../policy/auth.ts';
import { sendError } from '../http/error-response.ts';
import { sendText } from '../http/http-response.ts';
import type { Serve, Served } from '../http/route.ts';
import { EventStream } from '../mcp/sse-stream.ts';

/** Maximum number of open streams, so that a page left open in many tabs does not exhaust the gateway. */
const MAX_STREAMS = 100;
/** Maximum number of open streams of one token, which leaves some for the others. */
const MAX_OWN = 20;

/** Sends the current status as the first event, so that no event is missed in between. */
export const serveEvents: Serve = ({ response, principal }, { gateway, live }) => {
  const payer = payerOf(principal);
  const own = payer === undefined ? 0 : [...live.values()].filter((other) => payerOf(other) === payer).length;
  const later = { 'Retry-After': '30' };
  if (own >= MAX_OWN) {
    const hint = `close one of them: a token may have ${MAX_OWN}`;
    return sendError(response, 429, { message: `token "${payer}" has too many event streams`, hint }, later);
  }
  if (live.size >= MAX_STREAMS) return sendError(response, 503, 'too many event streams', later);
  const stream = new EventStream();
  const push = (event: string, data: unknown) => stream.push(JSON.stringify(data), { kept: false, event });
  stream.attach(response);
  live.set(stream, principal);
  push('status', gateway.status(principal));
  const leave = gateway.watch(principal, ({ type, ...data }) => push(type, data));
  response.once('close', () => {
    leave();
    live.delete(stream);
  });
};

export const serveMetrics: Serve = ({ response, principal }, served) => {
  const text = prometheusText([...served.gateway.metrics(principal), ...listenerFamilies(served)]);
  sendText(response, 200, text, { 'Content-Type': CONTENT_TYPE });
};

function listenerFamilies({ mcp, live }: Served) {
  return [
    gauge('mcpx_sessions', 'Sessions of clients over HTTP.', mcp.sessions.size),
    gauge('mcpx_event_streams', 'Open streams of /api/events.', live.size),
  ];
}
