/** How a session of Streamable HTTP begins: with `initialize`, or with the id of a session that began in another process. */
import { toRpcError } from '../errors.ts';
import { agreedVersion } from '../upstream/revisions.ts';
import { type Id, isRecord, type RpcRequest } from '../wire/message.ts';
import { type Accepts, Answer } from './answer.ts';
import type { Session } from './gateway.ts';
import { HttpSession } from './session.ts';
import type { Claims } from './session-id.ts';
import { requestIdOf } from './trace.ts';
import { hasRoom, type McpDeps, type McpVisit, openFront } from './visit.ts';

/** Begins a session, whose id the client learns from a header of the answer. */
export async function initialize(request: RpcRequest, accepts: Accepts, visit: McpVisit, deps: McpDeps): Promise<void> {
  const { response, profile, front, principal } = visit;
  if (!hasRoom(visit, deps, request.id)) return;
  const { clientInfo, capabilities, protocolVersion: wanted } = request.params ?? {};
  const hello = { protocolVersion: agreedVersion(wanted), clientInfo, capabilities };
  const issued = deps.ids.issue({ token: deps.fingerprint(principal), profile, front, hello });
  const { session, opened } = open(issued, visit, deps);
  const reply = (outcome: { result: unknown } | { error: ReturnType<typeof toRpcError> }) => {
    const headers: Record<string, string> = 'result' in outcome ? { 'Mcp-Session-Id': session.id } : {};
    new Answer({ response, accepts, owed: 1, batch: false, headers }).give({
      jsonrpc: '2.0',
      id: request.id,
      ...outcome,
    });
  };
  try {
    const result = await begin(session, opened, request, visit);
    if (response.destroyed) return deps.sessions.end(session, 'the client left');
    reply({ result });
  } catch (error) {
    deps.sessions.end(session, 'the session did not begin');
    reply({ error: toRpcError(error) });
  }
}

/** A session that cannot be had, or whose request was answered with the reason. */
type None = 'unknown' | 'refused';

/** What the id of a session that is not here describes, where this client may take it up on this route. */
export function claimsOf(id: string, { profile, principal }: McpVisit, deps: McpDeps): Claims | undefined {
  const claims = deps.ids.read(id);
  if (claims === undefined || claims.profile !== profile || claims.token !== deps.fingerprint(principal))
    return undefined;
  return deps.ended.has(claims) ? undefined : claims;
}

/** Takes up a session that began in another process, with what its client said there. Everything else of it begins anew. */
export function resume(
  id: string,
  visit: McpVisit,
  deps: McpDeps,
  requestId: Id | null,
): Promise<HttpSession | None> | None {
  const claims = claimsOf(id, visit, deps);
  if (claims === undefined || !deps.gateway.canResume(claims.profile, claims.issued)) return 'unknown';
  if (!hasRoom(visit, deps, requestId)) return 'refused';
  const { session, opened } = open({ id, claims, issued: claims.issued }, { ...visit, front: claims.front }, deps);
  const resuming = begin(session, opened, { method: 'initialize', params: claims.hello }, visit).then(
    () => {
      opened.front.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
      deps.log.info('a session goes on that began in another process', { request: requestIdOf(visit.response) });
      return session;
    },
    () => {
      deps.sessions.end(session, 'the session could not be taken up');
      return 'unknown' as const;
    },
  );
  deps.resuming.set(id, resuming);
  return resuming.finally(() => deps.resuming.delete(id));
}

interface Identity {
  id: string;
  claims?: Claims | undefined;
  /** Epoch ms, where it began in another process. */
  issued?: number;
}

function open({ id, claims, issued }: Identity, visit: McpVisit, deps: McpDeps) {
  const { profile, principal } = visit;
  const { sessions, parking, log } = deps;
  const session: HttpSession = new HttpSession({
    ...{ id, claims, profile, principal, parking, resumed: issued !== undefined },
    invalid: (reason) => log.debug(`a client sent something that is of no use: ${reason}`),
    close: () => opened.close(),
  });
  const downstream = {
    notify: (...said: Parameters<HttpSession['notify']>) => session.notify(...said),
    ask: (...asked: Parameters<HttpSession['ask']>) => session.ask(...asked),
  };
  const opened: Session = openFront(visit, deps, downstream, issued);
  sessions.add(session);
  return { session, opened };
}

/** The result of `initialize`; the session has begun with it. */
async function begin(
  session: HttpSession,
  { front }: Session,
  request: Pick<RpcRequest, 'method' | 'params'>,
  { response }: McpVisit,
): Promise<unknown> {
  const { signal } = new AbortController();
  const result = await front.request(request, { signal, requestId: requestIdOf(response) });
  session.begin(front, isRecord(result) ? String(result.protocolVersion) : '');
  return result;
}
