/** `mcpx exec server.tool key=value …`: runs one tool and prints its result. */
import { readFileSync } from 'node:fs';
import type { App } from '../app/app.ts';
import type { Config } from '../config/config.ts';
import { EXIT_CODES, McpxError, messageOf } from '../errors.ts';
import { givenBy, ownTextOf, partOf, readResult } from '../front/compact/result-values.ts';
import { compileProjection, type Projection } from '../front/compact/select.ts';
import { type Located, locate } from '../front/compact/tool-target.ts';
import type { ToolResult } from '../router/router.ts';

import { isRecord, type Params } from '../wire/message.ts';
import { confirmOnTerminal } from './ask-confirmation.ts';
import type { Flags, Invocation } from './command.ts';
import { sourceFlags, splitTarget, withApp } from './command-app.ts';
import { blockText } from './content-lines.ts';
import { parseJson, readPair } from './key-value-arguments.ts';
import { paint, print, printJson } from './output.ts';
import { type Aside, whileWaiting } from './progress.ts';
import { listAll, reportUnreachable } from './reachable-servers.ts';
import { status } from './status-lines.ts';

export function run(invocation: Invocation): Promise<number> {
  const { args, flags, stop } = invocation;
  const [target = '', ...pairs] = args;
  const given = { ...readArgs(flags.value('args')), ...Object.fromEntries(pairs.map(readPair)) };
  return withApp(invocation, async (app, config) => {
    const select = flags.has('select') ? await compileProjection(flags.value('select')) : undefined;
    const { server, tool } = await findTarget(target, app, { config, flags, stop });
    const confirm = confirmOnTerminal(flags, stop);
    const call = (aside: Aside) =>
      app.router().call({
        server,
        tool,
        arguments: given,
        caller: { key: 'cli', capabilities: {} },
        signal: stop,
        progress: showProgress,
        noted: (notes) => status.info(notes.map((said) => `${paint('yellow', 'note:')} ${said}`).join('\n')),
        confirm: (question) => aside(confirm(question)),
      });
    const result = await whileWaiting(`running ${target}`, call, stop).catch((error: unknown) => {
      throw withInspectHint(error, `mcpx inspect ${sourceFlags(flags)}${server}.${tool}`);
    });
    if (select !== undefined && result.isError !== true) return showPart(result, select, flags);
    if (flags.has('json')) await printJson(result);
    else await show(result);
    return result.isError === true ? EXIT_CODES.tool : 0;
  });
}

/** Finds a tool by `server.tool`, or by its name alone if only one server has it. */
async function findTarget(
  target: string,
  app: App,
  { config, flags, stop }: Pick<Invocation, 'flags' | 'stop'> & { config: Config },
): Promise<Located> {
  const { server, tool } = splitTarget(target);
  if (tool !== undefined) return { server, tool };
  const servers = await listAll(app, { config, stop });
  if (servers.some(({ name }) => name === target)) {
    throw new McpxError('usage', `"${target}" is a server, not a tool`, {
      hint: `mcpx inspect ${sourceFlags(flags)}${target}`,
    });
  }
  try {
    return locate({ tool: target }, app.router());
  } catch (error) {
    reportUnreachable(servers);
    throw error;
  }
}

function withInspectHint(error: unknown, hint: string): unknown {
  if (!(error instanceof McpxError) || error.code !== 'arguments') return error;
  return new McpxError(error.code, error.message, { hint, cause: error });
}

function readArgs(text: string | undefined): Params {
  if (text === undefined) return {};
  const source = text === '-' ? readFileSync(0, 'utf8') : text.startsWith('@') ? readArgsFile(text.slice(1)) : text;
  const value = parseJson(source, '--args');
  if (isRecord(value)) return value;
  throw new McpxError('usage', '--args must be a JSON object', { hint: `--args '{"key": "value"}'` });
}

function readArgsFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new McpxError('usage', `the file "${file}" of --args cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** Prints only the selected part: text and lines of a text unchanged, other values as JSON. */
async function showPart(result: ToolResult, select: Projection, flags: Flags): Promise<number> {
  const reading = readResult(result);
  if (reading.texts.length === 0 && result.structuredContent === undefined) {
    throw new McpxError('failed', 'the tool ran, but its result has no text, so --select cannot be applied', {
      hint: 'run it without --select to see the result',
    });
  }
  const { part, isFromLines } = partOf(givenBy(reading), select);
  const text = ownTextOf(part, isFromLines);
  if (text !== undefined && !flags.has('json')) await print(text);
  else await printJson(part);
  return 0;
}

/** Prints a result to stdout, or to stderr if the tool reported an error. */
async function show(result: ToolResult): Promise<void> {
  const blocks = Array.isArray(result.content) ? result.content.map(blockText) : [];
  const text = blocks.length > 0 ? blocks.join('\n') : JSON.stringify(result.structuredContent ?? {}, null, 2);
  if (result.isError === true) status.error(text);
  else await print(text);
}

function showProgress({ progress, total, message }: Params): void {
  const of = total === undefined ? '' : `/${total}`;
  status.start(`progress ${progress}${of}${message === undefined ? '' : ` ${message}`}`);
}
