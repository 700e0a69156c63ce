/** Plain HTTP for scripts: what a profile has as JSON lists, and tools that are called with their arguments as the body. */
import type { Tool } from '../catalog/list.ts';
import { McpxError, messageOf, RpcError } from '../errors.ts';
import { parseExact } from '../exact.ts';
import { firstSentence, renderTool } from '../render/typescript.ts';
import { isRecord } from '../wire/message.ts';
import { readBody } from './body.ts';
import type { Entrance } from './gateway.ts';
import { disabledProfile, type Statuses, sendError, sendFailure, unknownProfile } from './refuse.ts';
import { sendJson } from './reply.ts';
import type { Serve, Served, Visit } from './routes.ts';
import { requestIdOf } from './trace.ts';
import { fits, holderOf, keepRoom, type McpDeps, profileState } from './visit.ts';

/** Items of one answer where nobody asks for another number, and at most. */
const PAGE = 1000;

type Inside = (entrance: Entrance, visit: Visit, served: Served) => void | Promise<void>;

/** Finds the profile of the path; one that a token may not use is as good as missing. */
function within(serve: Inside): Serve {
  return async (visit, served) => {
    const { response, principal, parts } = visit;
    const profile = parts.get('profile') ?? '';
    const state = profileState(profile, visit, served.gateway);
    if (state === 'unknown') return sendError(response, 404, unknownProfile(profile, served.gateway.profileWord()));
    if (state === 'disabled')
      return sendError(response, 403, disabledProfile(profile, served.gateway.profileWord(profile)));
    const entrance = served.gateway.enter({ profile, principal, holder: holderOf(visit) });
    try {
      await serve(entrance, visit, served);
    } catch (failure) {
      fail(visit, served, failure);
    } finally {
      entrance.close();
    }
  };
}

/** Answers with a failure; what nobody foresaw is logged. */
export function fail({ request, response }: Visit, { log }: Served, failure: unknown, statuses?: Statuses): void {
  // A client that leaves in the middle of its request is no failure of ours.
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

/** `?q=` searches, `?server=` chooses one server, `?signatures=true` adds how a tool is called. */
export const serveTools: Serve = within(async (entrance, { response, query }) => {
  await entrance.listed();
  const all = await chosenTools(entrance, query);
  const signed = query.get('signatures') === 'true';
  const page = pageOf(all, query);
  if (typeof page === 'string') return sendError(response, 400, page);
  const tools = page.map(({ server, tool }) => ({ server, ...tool, ...(signed && signatureOf(tool)) }));
  sendJson(response, 200, { tools, total: all.length });
});

/** In the order of the config, or the best first where something is searched. */
async function chosenTools(
  { router, search }: Entrance,
  query: URLSearchParams,
): Promise<{ server: string; tool: Tool }[]> {
  const [question, only] = [query.get('q'), query.get('server')];
  const servers = router.servers().filter(({ name }) => only === null || name === only);
  if (question !== null && question.trim() !== '') {
    const scope = { servers: router.servers(), revision: router.revision(), ...(only !== null && { only }) };
    return search.find(question.slice(0, MAX_QUESTION), scope);
  }
  return servers.flatMap(({ name, tools }) => tools.map((tool) => ({ server: name, tool })));
}

/** Characters of a question. */
const MAX_QUESTION = 500;

/** Estimates: what a client reads before the first question, without the two tools and with them. */
export const serveTokens: Serve = within(async (entrance, { response }) => {
  await entrance.listed();
  sendJson(response, 200, entrance.reading());
});

export const serveResources: Serve = within(async (entrance, { response, query }) => {
  await entrance.listed(undefined, 'all');
  const servers = entrance.router.servers();
  const resources = servers.flatMap(({ name, resources }) => resources.map((one) => ({ server: name, ...one })));
  const page = pageOf(resources, query);
  if (typeof page === 'string') return sendError(response, 400, page);
  const templates = servers.flatMap(({ name, templates }) => templates.map((one) => ({ server: name, ...one })));
  sendJson(response, 200, { resources: page, templates: templates.slice(0, PAGE), total: resources.length });
});

export const servePrompts: Serve = within(async (entrance, { response, query }) => {
  await entrance.listed(undefined, 'all');
  const all = entrance.router
    .servers()
    .flatMap(({ name, prompts }) => prompts.map((prompt) => ({ server: name, ...prompt })));
  const page = pageOf(all, query);
  if (typeof page === 'string') return sendError(response, 400, page);
  sendJson(response, 200, { prompts: page, total: all.length });
});

/** A client that leaves cancels the call. */
export const serveCall: Serve = within(async ({ router, caller }, visit, { mcp }) => {
  const { response, parts } = visit;
  const body = await readJson(visit, mcp);
  if (body === undefined) return;
  const { value = {} } = body;
  if (!isRecord(value)) return sendError(response, 400, 'the body must be a JSON object: the arguments of the tool');
  const gone = new AbortController();
  response.once('close', () => gone.abort('the client went away'));
  const requestId = requestIdOf(response);
  const result = await router.call({
    ...{ server: parts.get('server') ?? '', tool: parts.get('tool') ?? '', arguments: value, caller },
    ...{ signal: gone.signal, ...(requestId !== undefined && { requestId }) },
  });
  sendJson(response, result.isError === true ? 424 : 200, result);
});

export const serveHealth: Serve = ({ response }) => sendJson(response, 200, { status: 'ok' });

/** Not ready before a profile runs, nor while it stops. */
export const serveReady: Serve = ({ response }, { gateway, stopping }) => {
  const ready = gateway.mainProfile !== undefined && !stopping.aborted;
  sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready' });
};

/** What was asked for between `limit` and `offset`; a sentence where they are no numbers. */
function pageOf<T>(items: T[], query: URLSearchParams): T[] | string {
  const [limit, offset] = [query.get('limit') ?? String(PAGE), query.get('offset') ?? '0'];
  for (const [name, text] of Object.entries({ limit, offset }))
    if (!/^\d{1,9}$/.test(text)) return `"${name}" must be a whole number`;
  const from = Number(offset);
  return items.slice(from, from + Math.min(PAGE, Number(limit)));
}

/** How it is called; what it says of itself stands beside it, whole and as its first sentence. */
function signatureOf(tool: Tool): { signature: string; summary: string } {
  const { title: _, description = '', ...bare } = tool;
  return { signature: renderTool(bare, { form: 'full' }), summary: firstSentence(description) };
}

/** The body as JSON, nothing where it is empty; undefined where the answer is on its way. */
export async function readJson(
  visit: Pick<Visit, 'request' | 'response' | 'principal'>,
  deps: Pick<McpDeps, 'maxBody' | 'bodies' | 'sessions'>,
): Promise<{ value?: unknown } | undefined> {
  const { request, response } = visit;
  const { maxBody, bodies } = deps;
  const refuse = (status: number, message: string) =>
    void sendError(response, status, message, status === 413 ? { Connection: 'close' } : {});
  const { headers } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return {};
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') return refuse(415, 'a body must not be compressed');
  if (!fits(visit, deps)) return undefined;
  const body = await readBody({ request, response }, maxBody);
  keepRoom(response, bodies, body);
  if (body === undefined) return refuse(413, `the body is larger than ${maxBody} bytes`);
  if (body.trim() === '') return {};
  if (!/^application\/json\s*(?:;|$)/i.test(headers['content-type'] ?? ''))
    return refuse(415, 'the Content-Type must be application/json');
  try {
    return { value: parseExact(body) };
  } catch {
    return refuse(400, 'the body is not JSON');
  }
}
