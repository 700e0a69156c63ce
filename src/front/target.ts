/** Reads which server and tool the arguments of `inspect` and `exec` mean. */
import { McpxError } from '../errors.ts';
import { nearest } from '../render/text.ts';
import { didYouMean, some } from '../router/missing.ts';
import type { Router } from '../router/router.ts';
import type { Params } from '../wire/message.ts';

export interface Target {
  server?: string;
  tool?: string;
}

/** `server_name` and `tool_name`, or `method: "server.tool"`, split at the first dot. */
export function readTarget(args: Params): Target {
  const server = text(args, 'server_name');
  const tool = text(args, 'tool_name');
  if (server !== undefined || tool !== undefined) return { ...(server && { server }), ...(tool && { tool }) };
  const method = text(args, 'method');
  if (method === undefined) return {};
  const dot = method.indexOf('.');
  return dot < 0 ? { tool: method } : { server: method.slice(0, dot), tool: method.slice(dot + 1) };
}

/** A tool named without its server is found when exactly one server has it; two meanings are never guessed between. */
export function ownerOf(tool: string, router: Pick<Router, 'owners' | 'servers'>): string {
  const owners = router.owners(tool);
  if (owners.length === 1 && owners[0] !== undefined) return owners[0];
  if (owners.length === 0) {
    const names = router.servers().flatMap(({ tools }) => tools.map(({ name }) => name));
    throw new McpxError('not_found', `no server has a tool "${tool}"${didYouMean(nearest(tool, names))}`, {
      hint: `the servers are: ${some(router.servers().map(({ name }) => name))}`,
    });
  }
  throw new McpxError('not_found', `several servers have a tool "${tool}": ${owners.join(', ')}`, {
    hint: 'say which one in "server_name"',
  });
}

function text(args: Params, key: string): string | undefined {
  const value = args[key];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new McpxError('arguments', `"${key}" must be a string`);
}
