/** `mcpx read <uri>`: writes a resource to stdout, text as text and binary content as bytes. */
import { McpxError } from '../errors.ts';
import { locateResource, type ResourceHints } from '../front/compact/resources-tool.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { Flags, Invocation } from './command.ts';
import { sourceFlags, withApp } from './command-app.ts';
import { isOnTerminal, print, printExactly, printJson } from './output.ts';
import { whileStarting } from './progress.ts';
import { reachServers } from './reachable-servers.ts';

export function run(invocation: Invocation): Promise<number> {
  const { args, flags, stop } = invocation;
  const [uri = ''] = args;
  return withApp(invocation, async (app, config) => {
    const named = flags.value('server');
    const servers = await reachServers(app, { config, stop, only: named, lists: 'all' });
    const { server, uri: own } = locateResource(uri, named, servers, typedHints(flags));
    const request = app.router().forward({
      ...{ server, kind: 'resource', name: own },
      ...{ method: 'resources/read', params: { uri: own } },
      ...{ caller: { key: 'cli', capabilities: {} }, signal: stop },
    });
    const answer = await whileStarting(server, request, stop);
    if (flags.has('json')) await printJson(answer);
    else for (const part of contentsOf(answer)) await show(part);
    return 0;
  });
}

/** Returns the hints of `locateResource` as shell commands. */
function typedHints(flags: Flags): ResourceHints {
  return {
    which: 'name the server with --server',
    list: `mcpx resources ${sourceFlags(flags)}`
      .trimEnd()
      .concat(' lists the resources; with --server, any URI of that server can be read'),
  };
}

function contentsOf(answer: unknown): Params[] {
  return isRecord(answer) && Array.isArray(answer.contents) ? answer.contents.filter(isRecord) : [];
}

async function show({ text, blob, mimeType = 'no type', uri }: Params): Promise<void> {
  // On a terminal a newline is added; a file or a pipe gets the text unchanged.
  if (typeof text === 'string') return isOnTerminal() ? print(text) : printExactly(text);
  const bytes = Buffer.from(String(blob ?? ''), 'base64');
  if (!isOnTerminal()) return printExactly(bytes);
  throw new McpxError('usage', `"${uri}" is not text (${mimeType}, ${bytes.length} bytes)`, {
    hint: 'redirect it to a file: mcpx read … > file',
  });
}
