/** `mcpx exec server.tool key=value …`: runs one tool and prints its result. */
import { readFileSync } from 'node:fs';
import type { App } from '../app/app.ts';
import type { Config } from '../config/config.ts';
import { formatDuration, MAX_DURATION, parseDuration } from '../config/units.ts';
import { EXIT_CODES, McpxError, messageOf, RpcError } from '../errors.ts';
import { codeOf } from '../files.ts';
import { givenBy, ownTextOf, partOf, readResult } from '../front/compact/result-values.ts';
import { compileProjection, type Projection } from '../front/compact/select.ts';
import { type Located, locate } from '../front/compact/tool-target.ts';
import { renderTool } from '../render/typescript.ts';
import type { ToolResult } from '../router/router.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../wire/message.ts';
import { confirmOnTerminal } from './ask-confirmation.ts';
import type { Flags, Invocation } from './command.ts';
import { readConfig, sourceFlags, splitTarget, withAppOf } from './command-app.ts';
import { parseJson, readPair } from './key-value-arguments.ts';
import { isWaitShown, labelled, noteToolError, print, printJson, showWait } from './output.ts';
import { type Aside, whileWaiting } from './progress.ts';
import { listAll, reportUnreachable } from './reachable-servers.ts';
import { resultText, valueText } from './result-text.ts';
import { status } from './status-lines.ts';

export function run(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  const [target = '', ...pairs] = args;
  const given = { ...readArgs(flags.value('args')), ...Object.fromEntries(pairs.map(readPair)) };
  const limit = readTimeout(flags.value('timeout'));
  const config = withTimeout(readConfig(flags), limit);
  const late = limit === undefined ? undefined : AbortSignal.timeout(limit);
  const stop = late === undefined ? invocation.stop : AbortSignal.any([invocation.stop, late]);
  const work = (app: App) => callTool(app, { config, flags, stop, target, given });
  return withAppOf(config, invocation, work, 'stored').catch((error: unknown) => {
    if (late?.aborted !== true || invocation.stop.aborted) throw error;
    throw new McpxError('timeout', `"${target}" was stopped after ${formatDuration(limit ?? 0)}`, {
      hint: 'set a longer --timeout',
      cause: error,
    });
  });
}

interface Wanted extends Pick<Invocation, 'flags' | 'stop'> {
  config: Config;
  target: string;
  given: Params;
}

async function callTool(app: App, { config, flags, stop, target, given }: Wanted): Promise<number> {
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
      noted: (notes) => status.info(notes.map((said) => labelled('yellow', 'note:', said)).join('\n')),
      confirm: (question) => aside(confirm(question)),
    });
  const result = await whileWaiting(`running ${target}`, call, stop).catch(async (error: unknown) => {
    throw await withSignature(error, app, { server, tool, flags });
  });
  if (select !== undefined && result.isError !== true) return showPart(result, select, flags);
  if (flags.has('json')) await printJson(result);
  else if (result.isError === true) noteToolError(`${resultText(result)}\n\n${await signatureOf(app, server, tool)}`);
  else await print(resultText(result));
  return result.isError === true ? EXIT_CODES.tool : 0;
}

function readTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(/^\d+(\.\d+)?$/.test(text) ? `${text}s` : text);
  if (ms !== undefined && ms > 0 && ms <= MAX_DURATION) return ms;
  throw new McpxError('usage', `"${text}" is not a duration`, { hint: 'write --timeout 30s, 5m or 1h' });
}

/** Returns the config with the limit as the timeout of calls, which may be shorter. */
function withTimeout(config: Config, limit: number | undefined): Config {
  if (limit === undefined) return config;
  const profiles = config.profiles.map((profile) => ({
    ...profile,
    servers: profile.servers.map((spec) => ({ ...spec, timeout: limit })),
  }));
  return { ...config, profiles };
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

/** Adds the signature of the tool to an error about its arguments, of mcpx or of the server. */
async function withSignature(
  error: unknown,
  app: App,
  { server, tool, flags }: { server: string; tool: string; flags: Flags },
): Promise<unknown> {
  const isServers = error instanceof RpcError && error.code === INVALID_PARAMS;
  if (!isServers && !(error instanceof McpxError && error.code === 'arguments')) return error;
  return new McpxError('arguments', `${messageOf(error)}\n\n${await signatureOf(app, server, tool)}`, {
    hint: `mcpx inspect ${sourceFlags(flags)}${server}.${tool}`,
    cause: error,
  });
}

async function signatureOf(app: App, server: string, tool: string): Promise<string> {
  return renderTool(await app.router().tool(server, tool), { form: 'short', maxDescription: 0 });
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
    throw new McpxError('usage', `the file "${file}" of --args cannot be read (${codeOf(cause) ?? 'unknown reason'})`, {
      hint: '--args @file reads a file with a JSON object',
      cause,
    });
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
  const { part, isFromText } = partOf(givenBy(reading), select);
  const text = ownTextOf(part, isFromText);
  if (flags.has('json')) await printJson(part);
  else await print(text ?? valueText(part));
  return 0;
}

function showProgress({ progress, total, message }: Params): void {
  const of = total === undefined ? '' : `/${total}`;
  const text = `progress ${progress}${of}${message === undefined ? '' : ` ${message}`}`;
  if (isWaitShown()) showWait(text);
  else status.start(text);
}
