/** Resolves the server and the tool in the arguments of `inspect` and `exec`. */
import { McpxError } from '../../errors.ts';
import { asName, closest, nearest } from '../../render/text.ts';
import { didYouMean } from '../../router/not-found.ts';
import type { Router, ServerView } from '../../router/router.ts';
import type { Params } from '../../wire/message.ts';
import type { ClientDeps } from '../front-interface.ts';
import { refreshAndFind } from '../refresh-and-find.ts';

export interface Target {
  server?: string;
  tool?: string;
}

/** A tool under the server's own name for it. */
export interface Located {
  server: string;
  tool: string;
}

type Known = Pick<Router, 'servers'>;

/** Reads `tool: "server.tool"`, split at the first dot, or a server and a tool apart; `method` is another name of `tool`. */
export function readTarget(args: Params): Target {
  const server = text(args, 'server_name');
  const named = text(args, 'tool') ?? text(args, 'method');
  const tool = text(args, 'tool_name') ?? (server === undefined ? undefined : named);
  if (server !== undefined || tool !== undefined) return { ...(server && { server }), ...(tool && { tool }) };
  if (named === undefined) return {};
  const dot = named.indexOf('.');
  return dot < 0 ? { tool: named } : { server: named.slice(0, dot), tool: named.slice(dot + 1) };
}

/**
 * Finds the tool, and lists servers first if necessary. Throws not_found with the nearest names, or if the name is
 * ambiguous.
 */
export async function findTool(
  target: { server?: string; tool: string },
  deps: Pick<ClientDeps, 'router' | 'listed' | 'verify'>,
): Promise<Located> {
  const { router, listed } = deps;
  const { server, tool } = target;
  if (server === undefined) {
    // A name without a server does not start any server.
    await refreshAndFind({ find: () => readings(tool, router)[0], start: 'never' }, deps);
    return locate(target, router);
  }
  try {
    await router.tool(server, tool);
    return { server, tool };
  } catch (error) {
    // For an unreachable server, the call itself reports the error.
    if (!(error instanceof McpxError) || error.code !== 'not_found') return { server, tool };
    if (!router.servers().some(({ name }) => name === server)) await listed();
    return locate(target, router);
  }
}

/** Separators between server and tool in a combined name, as clients and other programs write it. */
const SEPARATORS = ['.', '__', '::', ':', '/', '-', '_'];

/**
 * Resolves a name that has only one meaning: a tool's own name, or one prefixed with its server's name, in any case and
 * with any separators. A tool that its server does not have is left to the router, which reports the nearest names.
 */
export function locate({ server, tool }: { server?: string; tool: string }, router: Known): Located {
  const views = router.servers();
  if (server === undefined) return onlyOne(tool, readings(tool, router), router);
  const named = meantBy(server, views);
  if (named === undefined) {
    const [found, ...others] = readings(`${server}.${tool}`, router);
    return found !== undefined && others.length === 0 ? found : { server, tool };
  }
  const meant = meantBy(tool, named.tools);
  if (meant !== undefined) return { server: named.name, tool: meant.name };
  const all = readings(tool, router);
  const [found, ...others] = all.filter((one) => one.server === named.name);
  if (found !== undefined && others.length === 0) return found;
  if (all.length > 0) throw elsewhere(named, tool, all);
  return { server: named.name, tool };
}

/** Returns the one of this name, else the only one whose name differs in case and separators alone. */
export function meantBy<T extends { name: string }>(name: string, all: readonly T[]): T | undefined {
  const exact = all.find((one) => one.name === name);
  if (exact !== undefined) return exact;
  const [found, ...others] = all.filter((one) => folded(one.name) === folded(name));
  return others.length === 0 ? found : undefined;
}

function folded(name: string): string {
  return name.toLowerCase().replace(/[\s._-]+/g, '');
}

/** Other services may have a tool of that name, which does something else: they are named, but not suggested. */
function elsewhere({ name, tools }: ServerView, tool: string, found: Located[]): McpxError {
  const close = nearest(
    tool,
    tools.map((one) => one.name),
  );
  const owners = [...new Set(found.map(({ server }) => `"${server}"`))];
  const have =
    owners.length === 1
      ? 'has a tool of that name, for its own service'
      : 'have tools of that name, for their own services';
  return new McpxError('not_found', `server "${name}" has no tool "${asName(tool)}"${didYouMean(close)}`, {
    hint: `${owners.join(', ')} ${have}`,
  });
}

/** Returns every tool that the name may mean. */
function readings(name: string, router: Known): Located[] {
  const exact = named(name, router, (text) => text);
  return exact.length > 0 ? exact : named(name, router, folded);
}

function named(name: string, router: Known, form: (text: string) => string): Located[] {
  const wanted = form(name);
  return router.servers().flatMap(({ name: server, tools }) => {
    const prefixes = SEPARATORS.map((separator) => form(server + separator)).filter((prefix) =>
      wanted.startsWith(prefix),
    );
    const rests = prefixes.map((prefix) => wanted.slice(prefix.length));
    return tools
      .filter((tool) => form(tool.name) === wanted || rests.includes(form(tool.name)))
      .map((tool) => ({ server, tool: tool.name }));
  });
}

/** Returns the only match; throws if there is none or if the name is ambiguous. */
function onlyOne(tool: string, found: Located[], router: Known): Located {
  const [first, ...others] = found;
  if (first === undefined) throw nowhere(tool, router.servers());
  if (others.length === 0) return first;
  const owners = [...new Set(found.map(({ server }) => server))].join(', ');
  const names = found.slice(0, 3).map(written);
  const isOneName = found.every((one) => one.tool === first.tool);
  const why = isOneName ? `several servers have a tool "${first.tool}": ${owners}` : `"${tool}" may mean several tools`;
  throw new McpxError('not_found', why, { hint: `name it with its server: ${names.join(' or ')}` });
}

function written({ server, tool }: Located): string {
  return `"${server}.${tool}"`;
}

function nowhere(tool: string, servers: ServerView[]): McpxError {
  const said = `no server has a tool "${asName(tool)}"`;
  const own = meantBy(tool, servers);
  if (own !== undefined) {
    const names = own.tools.slice(0, 3).map(({ name }) => written({ server: own.name, tool: name }));
    const some = names.length === 0 ? '' : `, such as ${names.join(' or ')}`;
    return new McpxError('not_found', said, { hint: `"${own.name}" is a server: name one of its tools${some}` });
  }
  const owners = new Map(servers.flatMap(({ name, tools }) => tools.map((one) => [one.name, name] as const)));
  const close = nearest(tool, owners.keys()).map((name) => `${owners.get(name)}.${name}`);
  const names = servers.map(({ name }) => name);
  const hint = names.length > MAX_SERVERS ? `the nearest of ${names.length} servers are` : 'the servers are';
  const shown = names.length > MAX_SERVERS ? closest(tool, names) : names.sort();
  return new McpxError('not_found', `${said}${didYouMean(close)}`, {
    ...(close.length === 0 && { hint: `${hint}: ${shown.join(', ')}` }),
  });
}

/** Maximum number of servers that an error lists. */
const MAX_SERVERS = 10;

function text(args: Params, key: string): string | undefined {
  const value = args[key];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new McpxError('arguments', `"${key}" must be a string`);
}
