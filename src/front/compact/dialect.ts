/** Names and arguments of the compact front's tools, and the text form of a call to one of them. */
import type { Settings } from '../../config/config.ts';
import { isRecord, type Params, type RpcRequest } from '../../wire/message.ts';
import { countCalls } from './call-count.ts';

export interface Dialect {
  inspect: string;
  exec: string;
  /** The tool that runs only read-only tools. */
  read: string;
  /** The arguments that name a tool. */
  target(server: string, tool: string): Params;
  /** The arguments that name a server. */
  server(name: string): Params;
}

const DIALECTS = {
  inspect: {
    inspect: 'inspect',
    exec: 'exec',
    read: 'exec_read',
    // A name with a dot would be split at the wrong place.
    target: (server, tool) =>
      server.includes('.') ? { server_name: server, tool_name: tool } : { tool: `${server}.${tool}` },
    server: (name) => ({ server_name: name }),
  },
  describe: {
    inspect: 'describe',
    exec: 'call',
    read: 'call_read',
    target: (server, tool) => ({ method: `${server}.${tool}` }),
    server: (name) => ({ method: name }),
  },
} as const satisfies Record<Settings['front']['dialect'], Dialect>;

/** The tools of all dialects that call other tools. */
const RUNNERS: ReadonlySet<unknown> = new Set(Object.values(DIALECTS).flatMap(({ exec, read }) => [exec, read]));

/** Returns the number of tool calls beyond the first that a request of either front makes, for the rate limit. */
export function furtherCalls({ method, params }: RpcRequest): number {
  const { name, arguments: args } = params ?? {};
  if (method !== 'tools/call' || !RUNNERS.has(name) || !isRecord(args)) return 0;
  return countCalls(args) - 1;
}

export function dialectOf({ dialect }: Pick<Settings['front'], 'dialect'>): Dialect {
  return DIALECTS[dialect];
}

/** Returns a call as text, such as `inspect {"result":"r1","offset":2000}`. */
export function written(tool: string, args: Params): string {
  return `${tool} ${JSON.stringify(args)}`;
}
