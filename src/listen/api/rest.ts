/** The REST API for scripts: lists of a profile as JSON, and tool calls with the arguments as the body. */
import type { Item, Tool } from '../../catalog/listing.ts';
import { McpxError, messageOf, RpcError } from '../../errors.ts';
import { beginSteps } from '../../event-loop.ts';
import { parseLossless } from '../../lossless-json.ts';
import { firstSentence, renderTool } from '../../render/typescript.ts';
import { isRecord } from '../../wire/message.ts';
import type { Entrance } from '../app-api.ts';
import { requestIdOf } from '../http/access-log.ts';
import { disabledProfile, type Statuses, sendError, sendFailure, unknownProfile } from '../http/error-response.ts';
import { sendJson } from '../http/http-response.ts';
import { readBody } from '../http/request-body.ts';
import type { RouteRequest, Serve, Served } from '../http/route.ts';
import { holderOf, keepRoom, type McpDeps, profileState, reserveBody } from '../mcp/mcp-request.ts';

/** Default and maximum number of items in one response. */
const PAGE = 1000;

type Inside = (entrance: Entrance, exchange: RouteRequest, served: Served) => void | Promise<void>;

/** Resolves the profile in the path; a profile that the token may not use is treated as unknown. */
function within(serve: Inside): Serve {
  return async (exchange, served) => {
    const { response, principal, parts } = exchange;
    const profile = parts.get('profile') ?? '';
    const state = profileState(profile, exchange, served.gateway);
    if (state === 'unknown') return sendError(response, 404, unknownProfile(profile, served.gateway.profileWord()));
    if (state === 'disabled')
      return sendError(response, 403, disabledProfile(profile, served.gateway.profileWord(profile)));
    const entrance = served.gateway.enter({ profile, principal, holder: holderOf(exchange) });
    try {
      await serve(entrance, exchange, served);
    } catch (failure) {
      fail(exchange, served, failure);
    } finally {
      entrance.close();
    }
  };
}

/** Sends an error response; unexpected errors are logged at level `error`. */
export function fail(
  { request, response }: RouteRequest,
  { log }: Served,
  failure: unknown,
  statuses?: Statuses,
): void {
  // A client that disconnects before its request is complete is not an error.
  if (request.destroyed && !request.complete) return;
  const foreseen = failure instanceof McpxError || failure instanceof RpcError;
  log[foreseen ? 'debug' : 'error'](`${request.method} failed: ${messageOf(failure)}`, {
    request: requestIdOf(response),
  });
  sendFailure(response, failure, statuses);
}

export const serveServers: Serve = within((_, { response, principal, parts }, { gateway }) => {
  const found = gateway.status(principal).profiles.find(({ name }) => name === parts.get('profile'));
  sendJson(response, 200, { servers: found?.servers ?? [] });
});

/** `?q=` searches, `?server=` selects one server, `?signatures=true` adds the signature of each tool. */
export const serveTools: Serve = within(async (entrance, { response, query }) => {
  await entrance.listed();
  const all = await chosenTools(entrance, query);
  const signed = query.get('signatures') === 'true';
  const page = pageOf(all, query);
  if (typeof page === 'string') return sendError(response, 400, page);
  const tools = [];
  const steps = beginSteps();
  for (const { server, tool } of page) {
    tools.push({ server, ...tool, ...(signed && signatureOf(tool)) });
    if (steps.isOver()) await steps.next();
  }
  sendJson(response, 200, { tools, total: all.length });
});

/** Returns the tools in the order of the config, or by relevance for a search. */
async function chosenTools(
  { router, search }: Entrance,
  query: URLSearchParams,
): Promise<{ server: string; tool: Tool }[]> {
  const [question, only] = [query.get('q'), query.get('server')];
  const servers = router.servers().filter(({ name }) => only === null || name === only);
  if (question !== null && question.trim() !== '') {
    const scope = { servers: router.servers(), revision: router.revision(), ...(only !== null && { only }) };
    return search.find(
      question.slice(0, MAX_QUESTION),
      scope,
      query.has('limit') ? Number(query.get('limit')) : undefined,
    );
  }
  return servers.flatMap(({ name, tools }) => tools.map((tool) => ({ server: name, tool })));
}

/** Maximum number of characters of a search query. */
const MAX_QUESTION = 500;

/** Sends the estimated tokens of the initial context, without the two tools of the compact front and with them. */
export const serveTokens: Serve = within(async (entrance, { response }) => {
  await entrance.listed();
  sendJson(response, 200, await entrance.reading());
});

export const serveResources: Serve = within(async (entrance, { response, query }) => {
  await entrance.listed(undefined, 'all');
  const servers = entrance.router.servers();
  const resources = servers.flatMap(({ name, resources }) => resources.map((one) => [name, one] as const));
  const page = pageOf(resources, query);
  if (typeof page === 'string') return sendError(response, 400, page);
  const templates = servers.flatMap(({ name, templates }) => templates.map((one) => [name, one] as const));
  sendJson(response, 200, {
    resources: page.map(withServer),
    templates: templates.slice(0, PAGE).map(withServer),
    total: resources.length,
  });
});

export const servePrompts: Serve = within(async (entrance, { response, query }) => {
  await entrance.listed(undefined, 'all');
  const all = entrance.router
    .servers()
    .flatMap(({ name, prompts }) => prompts.map((prompt) => [name, prompt] as const));
  const page = pageOf(all, query);
  if (typeof page === 'string') return sendError(response, 400, page);
  sendJson(response, 200, { prompts: page.map(withServer), total: all.length });
});

function withServer([server, item]: readonly [string, Item]): Item {
  return { server, ...item };
}

/** Calls a tool; the call is cancelled if the client disconnects. */
export const serveCall: Serve = within(async ({ router, identity }, exchange, { mcp }) => {
  const { response, parts } = exchange;
  const body = await readJson(exchange, mcp);
  if (body === undefined) return;
  const { value = {} } = body;
  if (!isRecord(value)) return sendError(response, 400, 'the body must be a JSON object: the arguments of the tool');
  const gone = new AbortController();
  response.once('close', () => gone.abort('the client went away'));
  const requestId = requestIdOf(response);
  const result = await router.call({
    ...{ server: parts.get('server') ?? '', tool: parts.get('tool') ?? '', arguments: value, caller: identity },
    ...{ signal: gone.signal, ...(requestId !== undefined && { requestId }) },
  });
  sendJson(response, result.isError === true ? 424 : 200, result);
});

export const serveHealth: Serve = ({ response }) => sendJson(response, 200, { status: 'ok' });

/** Sends 503 before a profile runs and while mcpx is stopping. */
export const serveReady: Serve = ({ response }, { gateway, stopping }) => {
  const ready = gateway.mainProfile !== undefined && !stopping.aborted;
  sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready' });
};

/** Returns the page that `limit` and `offset` select; an error message if they are not numbers. */
function pageOf<T>(items: T[], query: URLSearchParams): T[] | string {
  const [limit, offset] = [query.get('limit') ?? String(PAGE), query.get('offset') ?? '0'];
  for (const [name, text] of Object.entries({ limit, offset }))
    if (!/^\d{1,9}$/.test(text)) return `"${name}" must be a whole number`;
  const from = Number(offset);
  return items.slice(from, from + Math.min(PAGE, Number(limit)));
}

/** Returns the tool's signature without its description, and the first sentence of the description. */
function signatureOf(tool: Tool): { signature: string; summary: string } {
  const { title: _, description = '', annotations, ...rest } = tool;
  const bare = { ...rest, annotations: annotations && { ...annotations, title: undefined } };
  return { signature: renderTool(bare, { form: 'full' }), summary: firstSentence(description) };
}

/**
 * Reads the body as JSON; `value` is absent for an empty body. Sends an error and returns undefined if the body is
 * invalid.
 */
export async function readJson(
  exchange: Pick<RouteRequest, 'request' | 'response' | 'principal'>,
  deps: Pick<McpDeps, 'maxBody' | 'bodies' | 'sessions'>,
): Promise<{ value?: unknown } | undefined> {
  const { request, response } = exchange;
  const { maxBody, bodies } = deps;
  const refuse = (status: number, message: string) =>
    void sendError(response, status, message, status === 413 ? { Connection: 'close' } : {});
  const { headers } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return {};
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') return refuse(415, 'a body must not be compressed');
  if (!reserveBody(exchange, deps)) return undefined;
  const body = await readBody({ request, response }, maxBody);
  keepRoom(response, bodies, body);
  if (body === undefined) return refuse(413, `the body is larger than ${maxBody} bytes`);
  if (body.trim() === '') return {};
  if (!/^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? ''))
    return refuse(415, 'the Content-Type must be application/json');
  try {
    return { value: parseLossless(body) };
  } catch {
    return refuse(400, 'the body is not JSON');
  }
}
