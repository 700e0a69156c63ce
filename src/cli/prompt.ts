/** `mcpx prompt server.prompt key=value …`: gets a prompt with these arguments and prints its messages. */
import type { App } from '../app/app.ts';
import type { Config } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { nearest } from '../render/text.ts';
import { didYouMean, some } from '../router/not-found.ts';
import type { ServerView } from '../router/router.ts';
import { isRecord } from '../wire/message.ts';
import type { Invocation } from './command.ts';
import { sourceFlags, splitTarget, withApp } from './command-app.ts';
import { blockText } from './content-lines.ts';
import { readPair } from './key-value-arguments.ts';
import { paintAnswer, print, printJson } from './output.ts';
import { whileStarting } from './progress.ts';
import { listAll, reachServers, reportUnreachable } from './reachable-servers.ts';

export function run(invocation: Invocation): Promise<number> {
  const { args, flags, stop } = invocation;
  const [target = '', ...pairs] = args;
  const given = Object.fromEntries(pairs.map(readPair).map(([key, value]) => [key, textOf(value)]));
  return withApp(invocation, async (app, config) => {
    const { server, name } = await findPrompt(target, app, { config, flags, stop });
    const request = app.router().forward({
      ...{ server, kind: 'prompt', name, method: 'prompts/get', params: { name, arguments: given } },
      ...{ caller: { key: 'cli', capabilities: {} }, signal: stop },
    });
    const answer = await whileStarting(server, request, stop);
    if (flags.has('json')) await printJson(answer);
    else await print(messagesOf(answer).join('\n\n'));
    return 0;
  });
}

/** Converts an argument to text, because prompts take only strings. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

async function findPrompt(
  target: string,
  app: App,
  { config, flags, stop }: Pick<Invocation, 'flags' | 'stop'> & { config: Config },
): Promise<{ server: string; name: string }> {
  const { server, tool: name } = splitTarget(target);
  const views =
    name === undefined
      ? await listAll(app, { config, stop, lists: 'all' })
      : await reachServers(app, { config, stop, only: server, lists: 'all' });
  const wanted = name ?? target;
  const owners = views.filter((view) => namesOf(view).includes(wanted));
  const [owner, ...others] = owners;
  if (owner !== undefined && others.length === 0) return { server: owner.name, name: wanted };
  if (owner !== undefined) {
    throw new McpxError('usage', `several servers have a prompt "${wanted}": ${some(owners.map((one) => one.name))}`, {
      hint: `mcpx prompt ${sourceFlags(flags)}${owner.name}.${wanted}`,
    });
  }
  reportUnreachable(views);
  const close = nearest(wanted, views.flatMap(namesOf));
  throw new McpxError('not_found', `there is no prompt "${target}"${didYouMean(close)}`, {
    hint: `mcpx prompts ${sourceFlags(flags)}`.trimEnd(),
  });
}

function namesOf({ prompts }: ServerView): string[] {
  return prompts.map((prompt) => String(prompt.name));
}

function messagesOf(answer: unknown): string[] {
  const messages = isRecord(answer) && Array.isArray(answer.messages) ? answer.messages.filter(isRecord) : [];
  return messages.map(({ role, content }) => {
    const blocks = [content].flat().map(blockText).join('\n');
    return `${paintAnswer('bold', `${role}:`)} ${blocks}`;
  });
}
