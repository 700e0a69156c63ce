/** Reads the target of a server entry: its type, and its command, URL, module or toolbox. */
import type { FieldName } from './aliases.ts';
import {
  BUILTINS,
  type BuiltinServer,
  type ModuleServer,
  REMOVED_BUILTINS,
  type RemoteServer,
  type ServerType,
  type StdioServer,
} from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import { inside, listText, quoted } from './json-data.ts';
import { didYouMean } from './nearest.ts';
import { hasPlaceholder } from './placeholders.ts';
import type { ServerFields, Written } from './server-fields.ts';

type Own<T, K extends keyof T> = Pick<T, K | Extract<'type', keyof T>>;

/** The part of a `ServerSpec` that depends on its type. */
export type Target =
  | Own<StdioServer, 'command' | 'args' | 'env' | 'envFile' | 'cwd' | 'framing'>
  | Own<RemoteServer, 'url' | 'headers' | 'headersHelper' | 'headersHelperCache' | 'oauth'>
  | Own<ModuleServer, 'module'>
  | Own<BuiltinServer, 'builtin'>;

/** Every spelling of a type, in lower case. */
export const TYPES: ReadonlyMap<string, ServerType> = new Map([
  ['stdio', 'stdio'],
  ['local', 'stdio'],
  ['http', 'http'],
  ['streamable-http', 'http'],
  ['streamable_http', 'http'],
  ['streamablehttp', 'http'],
  ['remote', 'http'],
  ['sse', 'sse'],
  ['ws', 'ws'],
  ['websocket', 'ws'],
  ['auto', 'auto'],
  ['module', 'module'],
  ['builtin', 'builtin'],
]);

const KNOWN = ['stdio', 'http', 'sse', 'ws', 'auto', 'module', 'builtin'];
const STDIO: FieldName[] = ['command', 'args', 'env', 'envFile', 'cwd', 'framing'];
const REMOTE: FieldName[] = ['url', 'headers', 'headersHelper', 'headersHelperCache', 'oauth'];

/** The fields that each type uses. The first one is required. */
const USED = {
  stdio: STDIO,
  http: REMOTE,
  sse: REMOTE,
  ws: REMOTE,
  auto: REMOTE,
  module: ['module'],
  builtin: [],
} as const satisfies Record<ServerType, readonly FieldName[]>;

/** Returns the target, or undefined if it reported an error. */
export function readTarget(server: Written, parts: ServerFields, findings: Diagnostics): Target | undefined {
  const type = readType(server, parts, findings);
  if (type === undefined) return undefined;
  const [needed] = USED[type];
  if (needed !== undefined && parts.part(needed) === undefined) {
    const hint = parts.mistyped([needed]);
    const message = `server "${server.name}" of type "${type}" needs "${needed}"`;
    findings.error({ message, place: server.place, part: 'key', hint });
    return undefined;
  }
  warnUnused(server, type, parts, findings);
  if (type === 'stdio') return readStdio(server, parts, findings);
  if (type === 'module') return readModule(parts);
  if (type === 'builtin') return readBuiltin(server, parts, findings);
  return readRemote(type, server, parts, findings);
}

function readModule(parts: ServerFields): Target | undefined {
  const module = parts.read<string>('module');
  return module === undefined ? undefined : { type: 'module', module };
}

function readType(server: Written, parts: ServerFields, findings: Diagnostics): ServerType | undefined {
  const written = parts.part('type');
  if (written !== undefined) {
    const type = TYPES.get(String(written.value).toLowerCase());
    if (type !== undefined) return type;
    const named = JSON.stringify(written.value);
    const message = `server "${server.name}" has the unknown type ${named}: the types are ${listText(KNOWN, 'and')}`;
    findings.error({ message, place: written.place, hint: didYouMean(String(written.value), TYPES.keys()) });
    return undefined;
  }
  const [command, url] = [parts.part('command'), parts.part('url')];
  if (command !== undefined && url !== undefined) {
    const message = `server "${server.name}" has both "command" and "${url.place.path.at(-1)}"`;
    findings.error({ message, place: url.place, part: 'key', hint: 'add "type": "stdio" or "type": "http"' });
    return undefined;
  }
  if (command !== undefined) return 'stdio';
  if (url !== undefined) return typeOfUrl(url.key, url.value);
  if (parts.part('module') !== undefined) return 'module';
  if (parts.part('builtin') !== undefined) return 'builtin';
  const hint = parts.mistyped(['command', 'url']) ?? 'add "command" for a program or "url" for a remote server';
  findings.error({
    message: `server "${server.name}" has neither "command" nor "url"`,
    place: server.place,
    part: 'key',
    hint,
  });
  return undefined;
}

function typeOfUrl(key: string, url: unknown): ServerType {
  if (/^wss?:/i.test(String(url))) return 'ws';
  return key === 'httpUrl' ? 'http' : 'auto';
}

function warnUnused(server: Written, type: ServerType, parts: ServerFields, findings: Diagnostics): void {
  const used: readonly FieldName[] = USED[type];
  const elsewhere = [...STDIO, ...REMOTE, ...USED.module].filter((slot) => !used.includes(slot));
  for (const slot of elsewhere) {
    const part = parts.part(slot);
    if (part === undefined) continue;
    const message = `"${part.place.path.at(-1)}" of server "${server.name}" is ignored: its type is "${type}"`;
    findings.warn({ message, place: part.place, part: 'key' });
  }
}

function readStdio(server: Written, parts: ServerFields, findings: Diagnostics): Target | undefined {
  const written = parts.read<string>('command');
  const args = [...(parts.read<string[]>('leading') ?? []), ...(parts.read<string[]>('args') ?? [])];
  const cwd = parts.read<string>('cwd');
  const rest = {
    env: parts.read<Record<string, string | null>>('env') ?? {},
    envFile: parts.read<string[]>('envFile') ?? [],
    ...(cwd === undefined ? {} : { cwd }),
    framing: parts.read<StdioServer['framing']>('framing') ?? 'newline',
  };
  if (written === undefined) return undefined;
  if (written.trim() === '') {
    const place = parts.part('command')?.place ?? server.place;
    findings.error({ message: `"command" of server "${server.name}" is empty`, place, hint: 'name a program' });
    return undefined;
  }
  const [command = written, ...words] = args.length === 0 ? splitCommand(written, server, parts, findings) : [written];
  return { type: 'stdio', command, args: [...words, ...args], ...rest };
}

/** Splits a command such as `npx -y x` at spaces, but not a path with spaces. No shell is used, so quotes have no effect. */
function splitCommand(written: string, server: Written, parts: ServerFields, findings: Diagnostics): string[] {
  const words = written.trim().split(/\s+/);
  const [first = '', ...rest] = words;
  if (rest.length === 0 || /[\\/]/.test(first)) return [written];
  const better = `"command": ${JSON.stringify(first)}, "args": [${quoted(rest).join(', ')}]`;
  const message = `"command" of server "${server.name}" was split at its spaces`;
  findings.warn({ message, place: parts.part('command')?.place ?? server.place, hint: `write ${better}` });
  return words;
}

function readBuiltin(server: Written, parts: ServerFields, findings: Diagnostics): Target | undefined {
  const written = parts.part('builtin');
  const builtin = written === undefined ? server.name : written.value;
  if (BUILTINS.some((name) => name === builtin)) return { type: 'builtin', builtin: String(builtin) };
  const isRemoved = REMOVED_BUILTINS.some((name) => name === builtin);
  const offered = `the toolboxes are ${listText(BUILTINS, 'and')}`;
  const hint = isRemoved
    ? `${offered}; remove the entry of server "${server.name}", or run an MCP server from npm instead`
    : (didYouMean(String(builtin), BUILTINS) ?? offered);
  const why = isRemoved ? ' any more' : '';
  const message = `there is no builtin server ${JSON.stringify(builtin)}${why}`;
  findings.error({ message, place: written?.place ?? server.place, hint });
  return undefined;
}

function readRemote(
  type: RemoteServer['type'],
  server: Written,
  parts: ServerFields,
  findings: Diagnostics,
): Target | undefined {
  const url = parts.read<string>('url');
  const headers = parts.read<Record<string, string>>('headers') ?? {};
  const oauth = parts.read<Record<string, unknown>>('oauth');
  const helper = parts.read<string[]>('headersHelper') ?? [];
  const cache = parts.read<number>('headersHelperCache');
  checkHeaders(headers, server, parts, findings);
  const problem = url === undefined ? undefined : urlProblem(url, type);
  if (problem !== undefined) {
    const place = parts.part('url')?.place ?? server.place;
    const hint = type === 'ws' ? 'such as wss://example.com/mcp' : 'such as https://example.com/mcp';
    findings.error({ message: `"url" of server "${server.name}" ${problem}`, place, hint });
  }
  if (url === undefined || problem !== undefined) return undefined;
  return {
    ...{ type, url, headers },
    ...(helper.length > 0 && { headersHelper: helper }),
    ...(cache !== undefined && { headersHelperCache: cache }),
    ...(oauth !== undefined && { oauth }),
  };
}

/** A URL with placeholders is checked when the server starts. */
function urlProblem(url: string, type: RemoteServer['type']): string | undefined {
  if (hasPlaceholder(url)) return undefined;
  const schemes = type === 'ws' ? ['ws:', 'wss:'] : ['http:', 'https:'];
  if (URL.canParse(url) && schemes.includes(new URL(url).protocol)) return undefined;
  return `must begin with ${listText(schemes.map((scheme) => `${scheme}//`))} and name a host`;
}

/** Reports headers that are not valid in HTTP; otherwise only the first request would fail. */
function checkHeaders(
  headers: Record<string, string>,
  server: Written,
  parts: ServerFields,
  findings: Diagnostics,
): void {
  const part = parts.part('headers');
  for (const [name, value] of Object.entries(headers)) {
    const place = inside(part?.place ?? server.place, name);
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
      findings.error({ message: `${JSON.stringify(name)} cannot be the name of an HTTP header`, place, part: 'key' });
    } else if (/[\r\n\0]/.test(value)) {
      findings.error({ message: `the value of the header "${name}" has a line break in it`, place });
    }
  }
}
