/** Serves `/api/servers` and `/api/reload`: changes at run time, only for tokens with `"admin": true`. */
import { isServerName, NAME_RULE } from '../../config/server-names.ts';
import { plain } from '../../lossless-json.ts';
import { asName } from '../../render/text.ts';
import { isRecord } from '../../wire/message.ts';
import type { Administration, Changes, ServerStatus } from '../app-api.ts';
import { sendError } from '../http/error-response.ts';
import { sendJson } from '../http/http-response.ts';
import type { RouteRequest, Serve, Served } from '../http/route.ts';
import { fail, readJson } from './rest.ts';

/** A change as the audit log records it. */
interface Deed {
  action: 'add' | 'change' | 'remove' | 'reload';
  target?: string;
}

export const serveAdd: Serve = (exchange, served) =>
  byAdmin(exchange, served, async (admin) => {
    const entry = await readEntry(exchange, served);
    if (entry === undefined) return;
    const { name, ...fields } = entry;
    if (typeof name !== 'string' || !isServerName(name))
      return sendError(exchange.response, 422, `"name" must be ${NAME_RULE}`);
    if (isKnown(served, name)) {
      const hint = `PATCH /api/servers/${encodeURIComponent(name)} changes it`;
      return sendError(exchange.response, 409, { message: `there is a server "${name}" already`, hint });
    }
    const edit = { kind: 'add', name, entry: fields } as const;
    await act(exchange, served, { action: 'add', target: name }, () => admin.edit(edit), 201);
  });

export const serveChange: Serve = (exchange, served) =>
  byAdmin(exchange, served, async (admin) => {
    const fields = await readEntry(exchange, served);
    if (fields === undefined) return;
    const name = nameIn(exchange);
    if (name === undefined) return;
    if (Object.hasOwn(fields, 'name'))
      return sendError(exchange.response, 422, 'a server cannot be given another name');
    const edit = { kind: 'change', name, fields } as const;
    await act(exchange, served, { action: 'change', target: name }, () => admin.edit(edit));
  });

export const serveRemove: Serve = (exchange, served) =>
  byAdmin(exchange, served, async (admin) => {
    const name = nameIn(exchange);
    if (name === undefined) return;
    await act(exchange, served, { action: 'remove', target: name }, () => admin.edit({ kind: 'remove', name }));
  });

export const serveReload: Serve = (exchange, served) =>
  byAdmin(exchange, served, (admin) => act(exchange, served, { action: 'reload' }, () => admin.reload()));

async function byAdmin(
  { response, principal }: RouteRequest,
  { admin }: Served,
  serve: (admin: Administration) => Promise<void>,
): Promise<void> {
  if (principal?.admin !== true) return sendError(response, 403, NO_ADMIN);
  if (admin === undefined) return sendError(response, 409, NO_FILE);
  await serve(admin);
}

const NO_ADMIN = {
  message: 'this needs a token with "admin": true',
  hint: 'give one that right under "http.auth.tokens" in the config',
};
const NO_FILE = {
  message: 'there is no config file to change',
  hint: 'start the gateway with one: mcpx serve <config> --http',
};

/** Applies a change, emits an audit event for the attempt, and sends the result. */
async function act(
  exchange: RouteRequest,
  served: Served,
  deed: Deed,
  change: () => Promise<Changes>,
  status = 200,
): Promise<void> {
  const { response, principal, trace } = exchange;
  const told = (ok: boolean) =>
    served.gateway.emit({ type: 'admin', ...deed, token: principal?.name, ok, request: trace.request });
  try {
    const changes = await change();
    told(true);
    const servers = deed.target === undefined ? {} : { servers: named(served, deed.target) };
    sendJson(response, status, { ...changes, ...servers });
  } catch (failure) {
    told(false);
    fail(exchange, served, failure, { config: 422 });
  }
}

async function readEntry(exchange: RouteRequest, { mcp }: Served): Promise<Record<string, unknown> | undefined> {
  const body = await readJson(exchange, mcp);
  if (body === undefined) return undefined;
  if (isRecord(body.value)) {
    if (isWithin(body.value, MAX_DEPTH)) return plain(body.value) as Record<string, unknown>;
    sendError(exchange.response, 400, `the body is nested more than ${MAX_DEPTH} levels deep`);
    return undefined;
  }
  sendError(exchange.response, 400, 'the body must be a JSON object: the entry of the server');
  return undefined;
}

/** Maximum nesting depth of a server entry; valid entries need only a few levels. */
const MAX_DEPTH = 32;

function isWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isWithin(item, depth - 1));
}

/** Returns the server name in the path; if it is invalid, sends an error and returns undefined. */
function nameIn({ parts, response }: RouteRequest): string | undefined {
  const name = parts.get('name') ?? '';
  if (isServerName(name)) return name;
  sendError(response, 404, `no server is called "${asName(name)}"`);
  return undefined;
}

function isKnown(served: Served, name: string): boolean {
  return named(served, name).length > 0;
}

/** Returns the current status of the server in every profile that has it. */
function named({ gateway }: Served, name: string): (ServerStatus & { profile: string })[] {
  return gateway
    .status()
    .profiles.flatMap(({ name: profile, servers }) =>
      servers
        .filter((server) => server.name.toLowerCase() === name.toLowerCase())
        .map((server) => ({ profile, ...server })),
    );
}
