/** Begins a Streamable HTTP session with `initialize`, or resumes one that began in another process by its id. */
import { toRpcError } from '../../errors.ts';
import { agreedVersion } from '../../mcp/protocol-versions.ts';
import { type Id, isRecord, type RpcRequest } from '../../wire/message.ts';
import type { Session } from '../app-api.ts';
import { requestIdOf } from '../http/access-log.ts';
import { hasRoom, type McpDeps, type McpRequest, openFront } from './mcp-request.ts';
import { type Accepts, Answer } from './post-response.ts';
import { HttpSession } from './session.ts';
import type { Claims } from './session-id.ts';

/** Begins a session; the client gets its id in a response header. */
export async function initialize(
  request: RpcRequest,
  accepts: Accepts,
  exchange: McpRequest,
  deps: McpDeps,
): Promise<void> {
  const { response, profile, front, principal } = exchange;
  if (!hasRoom(exchange, deps, request.id)) return;
  const { clientInfo, capabilities, protocolVersion: wanted } = request.params ?? {};
  const hello = { protocolVersion: agreedVersion(wanted), clientInfo, capabilities };
  const issued = deps.ids.issue({ token: deps.fingerprint(principal), profile, front, hello });
  const { session, opened } = open(issued, exchange, deps);
  const reply = (outcome: { result: unknown } | { error: ReturnType<typeof toRpcError> }) => {
    const headers: Record<string, string> = 'result' in outcome ? { 'Mcp-Session-Id': session.id } : {};
    new Answer({ response, accepts, pending: 1, batch: false, headers }).give({
      jsonrpc: '2.0',
      id: request.id,
      ...outcome,
    });
  };
  try {
    const result = await begin(session, opened, request, exchange);
    if (response.destroyed) return deps.sessions.end(session, 'the client left');
    reply({ result });
  } catch (error) {
    deps.sessions.end(session, 'the session did not begin');
    reply({ error: toRpcError(error) });
  }
}

/** The session is unknown, or the request was rejected and the error is sent. */
type None = 'unknown' | 'refused';

/** Decodes the id of a session of another process; undefined if this client may not resume it on this route. */
export function claimsOf(id: string, { profile, principal }: McpRequest, deps: McpDeps): Claims | undefined {
  const claims = deps.ids.read(id);
  if (claims === undefined || claims.profile !== profile || claims.token !== deps.fingerprint(principal))
    return undefined;
  return deps.ended.has(claims) ? undefined : claims;
}

/** Resumes a session of another process with the parameters of its `initialize`; all other state starts empty. */
export function resume(
  id: string,
  exchange: McpRequest,
  deps: McpDeps,
  requestId: Id | null,
): Promise<HttpSession | None> | None {
  const claims = claimsOf(id, exchange, deps);
  if (claims === undefined || !deps.gateway.canResume(claims.profile, claims.issued)) return 'unknown';
  if (!hasRoom(exchange, deps, requestId)) return 'refused';
  const { session, opened } = open({ id, claims, issued: claims.issued }, { ...exchange, front: claims.front }, deps);
  const resuming = begin(session, opened, { method: 'initialize', params: claims.hello }, exchange).then(
    () => {
      opened.front.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
      deps.log.info('resumed a session of another process', { request: requestIdOf(exchange.response) });
      return session;
    },
    () => {
      deps.sessions.end(session, 'the session could not be resumed');
      return 'unknown' as const;
    },
  );
  deps.resuming.set(id, resuming);
  return resuming.finally(() => deps.resuming.delete(id));
}

interface Identity {
  id: string;
  claims?: Claims | undefined;
  /** Start of a session of another process, in epoch ms. */
  issued?: number;
}

function open({ id, claims, issued }: Identity, exchange: McpRequest, deps: McpDeps) {
  const { profile, principal } = exchange;
  const { sessions, parking, log } = deps;
  const session: HttpSession = new HttpSession({
    ...{ id, claims, profile, principal, parking, resumed: issued !== undefined },
    invalid: (reason) => log.debug(`a client sent an invalid message: ${reason}`),
    close: () => opened.close(),
  });
  const downstream = {
    notify: (...said: Parameters<HttpSession['notify']>) => session.notify(...said),
    ask: (...asked: Parameters<HttpSession['ask']>) => session.ask(...asked),
  };
  const opened: Session = openFront(exchange, deps, downstream, issued);
  sessions.add(session);
  return { session, opened };
}

/** Sends `initialize` to the front, starts the session with the negotiated version, and returns the result. */
async function begin(
  session: HttpSession,
  { front }: Session,
  request: Pick<RpcRequest, 'method' | 'params'>,
  { response }: McpRequest,
): Promise<unknown> {
  const { signal } = new AbortController();
  const result = await front.request(request, { signal, requestId: requestIdOf(response) });
  session.begin(front, isRecord(result) ? String(result.protocolVersion) : '');
  return result;
}
