/** `mcpx exec server.tool key=value …`: runs one tool, prints what it answered. */
import { readFileSync } from 'node:fs';
import type { App } from '../app/app.ts';
import { EXIT_CODES, McpxError, messageOf } from '../errors.ts';
import { type Located, locate } from '../front/target.ts';
import type { ToolResult } from '../router/router.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { Flags, Invocation } from './command.ts';
import { confirmOnTerminal } from './confirm.ts';
import { note, paint, print, printJson } from './output.ts';
import { whileWaiting } from './progress.ts';
import { sourceFlags, splitTarget, withApp } from './session.ts';

export function run(invocation: Invocation): Promise<number> {
  const { args, flags, stop } = invocation;
  const [target = '', ...pairs] = args;
  const given = { ...readArgs(flags.value('args')), ...Object.fromEntries(pairs.map(readPair)) };
  return withApp(invocation, async (app) => {
    const { server, tool } = await findTarget(target, app, flags);
    const call = app.router().call({
      server,
      tool,
      arguments: given,
      caller: { key: 'cli', capabilities: {} },
      signal: stop,
      progress: showProgress,
      confirm: confirmOnTerminal(flags, stop),
    });
    const result = await whileWaiting(`running ${target}`, call).catch((error: unknown) => {
      throw withInspectHint(error, `mcpx inspect ${sourceFlags(flags)}${server}.${tool}`);
    });
    if (flags.has('json')) await printJson(result);
    else await show(result);
    return result.isError === true ? EXIT_CODES.tool : 0;
  });
}

/** `server.tool`, or a tool's name alone where one server has it. */
async function findTarget(target: string, app: App, flags: Flags): Promise<Located> {
  const { server, tool } = splitTarget(target);
  if (tool !== undefined) return { server, tool };
  await whileWaiting('starting the servers', app.listed());
  const router = app.router();
  if (!router.servers().some(({ name }) => name === target)) return locate({ tool: target }, router);
  throw new McpxError('usage', `"${target}" is a server: which of its tools?`, {
    hint: `mcpx inspect ${sourceFlags(flags)}${target}`,
  });
}

function withInspectHint(error: unknown, hint: string): unknown {
  if (!(error instanceof McpxError) || error.code !== 'arguments') return error;
  return new McpxError(error.code, error.message, { hint, cause: error });
}

/** `key=value` is a string, which the check may turn into what the schema wants; `key:=json` is JSON. */
function readPair(pair: string): [string, unknown] {
  const match = /^([^=:]+)(:?=)(.*)$/s.exec(pair);
  if (match === null) {
    throw new McpxError('usage', `"${pair}" is no argument`, {
      hint: 'write key=value, or key:=json for numbers, lists and objects',
    });
  }
  const [, key = '', operator, value = ''] = match;
  return [key, operator === ':=' ? parseJson(value, `the value of "${key}"`) : value];
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

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new McpxError('usage', `${what} is not JSON: ${messageOf(cause)}`, { cause, hint: 'quote it for the shell' });
  }
}

/** What the tool says goes to stdout, what it complains about to stderr. */
async function show(result: ToolResult): Promise<void> {
  const blocks = Array.isArray(result.content) ? result.content.map(blockText) : [];
  const text = blocks.length > 0 ? blocks.join('\n') : JSON.stringify(result.structuredContent ?? {}, null, 2);
  if (result.isError === true) note(`${paint('red', 'error:')} ${text}`);
  else await print(text);
}

function blockText(block: unknown): string {
  if (!isRecord(block)) return JSON.stringify(block);
  if (typeof block.text === 'string') return block.text;
  if (typeof block.data === 'string')
    return `[${block.type} ${block.mimeType}, ${block.data.length} base64 characters; --json shows them]`;
  return JSON.stringify(block);
}

function showProgress({ progress, total, message }: Params): void {
  const of = total === undefined ? '' : `/${total}`;
  note(paint('dim', `progress ${progress}${of}${message === undefined ? '' : ` ${message}`}`));
}
