/** `GET /api/events`: what happens, as it happens, to whoever may know of it; and `GET /metrics`. */
import { CONTENT_TYPE, exposition } from '../observe/exposition.ts';
import { gauge } from '../observe/metrics.ts';
import { EventStream } from './events.ts';
import { sendError } from './refuse.ts';
import { sendText } from './reply.ts';
import type { Serve, Served } from './routes.ts';

/** Streams at once; a page that is left open in many tabs must not cost everybody. */
const MAX_STREAMS = 100;
/** Of one token, so that it leaves some to others. */
const MAX_OWN = 20;

/** The first event is the status as it is, so that nothing is missed between the two. */
export const serveEvents: Serve = ({ response, principal }, { gateway, live }) => {
  const own = principal === undefined ? 0 : [...live.values()].filter((other) => other === principal).length;
  const later = { 'Retry-After': '30' };
  if (own >= MAX_OWN) {
    const hint = `close one of them: a token may have ${MAX_OWN}`;
    return sendError(response, 429, { message: `token "${principal?.name}" has too many event streams`, hint }, later);
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
  const text = exposition([...served.gateway.metrics(principal), ...listenerFamilies(served)]);
  sendText(response, 200, text, { 'Content-Type': CONTENT_TYPE });
};

function listenerFamilies({ mcp, live }: Served) {
  return [
    gauge('mcpx_sessions', 'Sessions of clients over HTTP.', mcp.sessions.size),
    gauge('mcpx_event_streams', 'Open streams of /api/events.', live.size),
  ];
}
