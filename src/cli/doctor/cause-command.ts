/** Commands that show the cause of a failure: the server's command by hand, the first request of MCP, or the log. */
import type { ServerSpec, StdioServer } from '../../config/config.ts';
import { type Environment, lookup } from '../../config/environment.ts';
import { isNodeName } from '../../config/find-program.ts';
import { redactSpec } from '../../config/show.ts';
import { LEGACY_VERSIONS } from '../../mcp/protocol-versions.ts';
import { NODE_COMMAND } from '../../upstream/transports/transport.ts';
import type { Flags } from '../command.ts';
import { shellWord } from '../shell-word.ts';
import { ownCommand, ownName } from './finding.ts';
import { findInPath } from './program-search.ts';

interface CauseContext {
  spec: ServerSpec;
  flags: Flags;
  world: Environment;
}

/** Returns the command that shows more about a server: its answer to the first request, or its log. */
export function seeCommand({ spec, flags }: Pick<CauseContext, 'spec' | 'flags'>): string {
  return 'url' in spec ? requestCommand(spec) : ownCommand(flags, 'logs', spec.name);
}

/** Returns the command that shows whether the address of a server can be reached. */
export function connectCommand(spec: Extract<ServerSpec, { url: string }>): string {
  return `curl -i ${expandable(redactSpec(spec).url.replace(/^ws/, 'http'))}`;
}

/** Returns the command that runs the server in a terminal, where its output can be seen. */
export function byHand(context: CauseContext): string {
  const { spec, world } = context;
  return spec.type === 'stdio' ? typed(redactSpec(spec), world) : seeCommand(context);
}

/** Returns the command that runs the program of "headersHelper". */
export function helperByHand(spec: Extract<ServerSpec, { url: string }>): string {
  return (redactSpec(spec).headersHelper ?? []).map(expandable).join(' ');
}

function typed({ command, args, env, cwd }: StdioServer, world: Environment): string {
  const runsInside = isNodeName(command) && findInPath(command, lookup('PATH', world) ?? '', world) === undefined;
  const program = runsInside ? [ownName(), NODE_COMMAND] : [command];
  const line = [...program, ...args].map(expandable).join(' ');
  const variables = Object.entries(env).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  if (world.platform === 'win32') {
    const folder = cwd === undefined ? [] : [`cd /d "${cwd}"`];
    return [...folder, ...variables.map(([name, value]) => `set "${name}=${value}"`), line]
      .join(' && ')
      .replaceAll('***', '<value>');
  }
  const given = variables.map(([name, value]) => `${name}=${expandable(value)} `).join('');
  return `${cwd === undefined ? '' : `cd ${expandable(cwd)} && `}${given}${line}`;
}

/** Quotes a word for a shell. A placeholder of the config stays one that the shell fills in; a secret has to be typed. */
function expandable(word: string): string {
  const shown = word.replaceAll('***', '<value>');
  if (!/\$\{(?:env:)?\w+(?::-[^}]*)?\}/.test(shown)) return shellWord(shown);
  return `"${shown.replace(/["\\`]/g, '\\$&').replaceAll('${env:', '${')}"`;
}

/** Returns the command that sends `initialize` to a server with a URL and shows the status, the headers and the body. */
function requestCommand(spec: Extract<ServerSpec, { url: string }>): string {
  const { url, ...rest } = redactSpec(spec);
  if (/^wss?:/.test(url)) return connectCommand(spec);
  const own = 'headers' in rest ? Object.entries(rest.headers) : [];
  const headers = [['Content-Type', 'application/json'], ['Accept', 'application/json, text/event-stream'], ...own].map(
    ([name, value]) => ` -H ${expandable(`${name}: ${value}`)}`,
  );
  const params = { protocolVersion: LEGACY_VERSIONS[0], capabilities: {}, clientInfo: { name: 'curl', version: '1' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  return `curl -i ${expandable(url)}${headers.join('')} -d ${shellWord(body)}`;
}
