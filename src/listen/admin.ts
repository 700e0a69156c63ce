/** `/api/servers` and `/api/reload`: changes at run time, for tokens with `"admin": true` only. */
import { isServerName, NAME_RULE } from '../config/names.ts';
import { plain } from '../exact.ts';
import { asName } from '../render/text.ts';
import { isRecord } from '../wire/message.ts';
import type { Administration, Changes, ServerStatus } from './gateway.ts';
import { sendError } from './refuse.ts';
import { sendJson } from './reply.ts';
import { fail, readJson } from './rest.ts';
import type { Serve, Served, Visit } from './routes.ts';

/** A change, as it is written down. */
interface Deed {
  action: 'add' | 'change' | 'remove' | 'reload';
  target?: string;
}

export const serveAdd: Serve = (visit, served) =>
  byAdmin(visit, served, async (admin) => {
    const entry = await readEntry(visit, served);
    if (entry === undefined) return;
    const { name, ...fields } = entry;
    if (typeof name !== 'string' || !isServerName(name))
      return sendError(visit.response, 422, `"name" must be ${NAME_RULE}`);
    if (isKnown(served, name)) {
      const hint = `PATCH /api/servers/${encodeURIComponent(name)} changes it`;
      return sendError(visit.response, 409, { message: `there is a server "${name}" already`, hint });
    }
    const edit = { kind: 'add', name, entry: fields } as const;
    await act(visit, served, { action: 'add', target: name }, () => admin.edit(edit), 201);
  });

export const serveChange: Serve = (visit, served) =>
  byAdmin(visit, served, async (admin) => {
    const fields = await readEntry(visit, served);
    if (fields === undefined) return;
    const name = nameIn(visit);
    if (name === undefined) return;
    if (Object.hasOwn(fields, 'name')) return sendError(visit.response, 422, 'a server cannot be given another name');
    const edit = { kind: 'change', name, fields } as const;
    await act(visit, served, { action: 'change', target: name }, () => admin.edit(edit));
  });

export const serveRemove: Serve = (visit, served) =>
  byAdmin(visit, served, async (admin) => {
    const name = nameIn(visit);
    if (name === undefined) return;
    await act(visit, served, { action: 'remove', target: name }, () => admin.edit({ kind: 'remove', name }));
  });

export const serveReload: Serve = (visit, served) =>
  byAdmin(visit, served, (admin) => act(visit, served, { action: 'reload' }, () => admin.reload()));

async function byAdmin(
  { response, principal }: Visit,
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

/** Does it, writes down that it was tried, and answers with what became of it. */
async function act(
  visit: Visit,
  served: Served,
  deed: Deed,
  change: () => Promise<Changes>,
  status = 200,
): Promise<void> {
  const { response, principal, trace } = visit;
  const told = (ok: boolean) =>
    served.gateway.emit({ type: 'admin', ...deed, token: principal?.name, ok, request: trace.request });
  try {
    const changes = await change();
    told(true);
    const servers = deed.target === undefined ? {} : { servers: named(served, deed.target) };
    sendJson(response, status, { ...changes, ...servers });
  } catch (failure) {
    told(false);
    fail(visit, served, failure, { config: 422 });
  }
}

async function readEntry(visit: Visit, { mcp }: Served): Promise<Record<string, unknown> | undefined> {
  const body = await readJson(visit, mcp);
  if (body === undefined) return undefined;
  if (isRecord(body.value)) {
    if (isWithin(body.value, MAX_DEPTH)) return plain(body.value) as Record<string, unknown>;
    sendError(visit.response, 400, `the body is nested more than ${MAX_DEPTH} levels deep`);
    return undefined;
  }
  sendError(visit.response, 400, 'the body must be a JSON object: the entry of the server');
  return undefined;
}

/** Levels of an entry; the deepest that mean anything are a few. */
const MAX_DEPTH = 32;

function isWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isWithin(item, depth - 1));
}

/** The name in the path; where it is none that a server can have, the answer is on its way. */
function nameIn({ parts, response }: Visit): string | undefined {
  const name = parts.get('name') ?? '';
  if (isServerName(name)) return name;
  sendError(response, 404, `no server is called "${asName(name)}"`);
  return undefined;
}

function isKnown(served: Served, name: string): boolean {
  return named(served, name).length > 0;
}

/** The server as it is now, in every profile that has it. */
function named({ gateway }: Served, name: string): (ServerStatus & { profile: string })[] {
  return gateway
    .status()
    .profiles.flatMap(({ name: profile, servers }) =>
      servers
        .filter((server) => server.name.toLowerCase() === name.toLowerCase())
        .map((server) => ({ profile, ...server })),
    );
}
