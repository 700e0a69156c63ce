/** `mcpx status`: what a running gateway says of its servers: states, reasons, when it will try again. */
import { lookup, worldOf } from '../config/world.ts';
import { McpxError, messageOf } from '../errors.ts';
import { codeOf } from '../files.ts';
import type { Conflict, ServerStatus, Status } from '../listen/gateway.ts';
import { urlOf } from '../listen/guard.ts';
import { isRecord } from '../wire/message.ts';
import type { Flags, Invocation } from './command.ts';
import { print, printJson, table } from './output.ts';
import { readConfig } from './session.ts';

/** ms to wait for the gateway. */
const PATIENCE = 5000;

export async function run({ flags }: Invocation): Promise<number> {
  const base = flags.value('url')?.replace(/\/(?:mcp\/?)?$/, '') ?? configured(flags);
  if (!URL.canParse(base))
    throw new McpxError('usage', `"${base}" is no URL`, { hint: 'mcpx status --url http://127.0.0.1:3095' });
  const status = await ask(base);
  if (flags.has('json')) await printJson(status);
  else await print(report(status, base));
  return 0;
}

function configured(flags: Flags): string {
  const { host, port } = readConfig(flags).settings.http;
  return urlOf(host === '0.0.0.0' ? '127.0.0.1' : host, port);
}

async function ask(base: string): Promise<Status> {
  const token = lookup('MCPX_TOKEN', worldOf());
  const { status, text } = await get(`${base}/api/status`, token).catch((cause) => {
    const reason = reasonOf(cause);
    // The codes of the parser: it is no HTTP at all.
    if (reason.startsWith('HPE_')) throw stranger(base, cause);
    throw new McpxError('unreachable', `no gateway answers at ${base}: ${reason}`, {
      hint: 'mcpx serve --http starts one; mcpx tools asks the servers themselves',
      cause,
    });
  });
  if (status === 401) {
    const why = token === undefined ? 'wants a token' : 'refuses the token in MCPX_TOKEN';
    throw new McpxError('auth', `the gateway at ${base} ${why}`, { hint: 'set MCPX_TOKEN to one of its tokens' });
  }
  // Every gateway has this address.
  if (status === 404) throw stranger(base);
  if (status !== 200) throw new McpxError('failed', `the gateway at ${base} answered with HTTP ${status}`);
  const read = readStatus(text);
  if (read === undefined) throw stranger(base);
  return read;
}

async function get(url: string, token: string | undefined): Promise<{ status: number; text: string }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(PATIENCE) });
  return { status: response.status, text: await response.text() };
}

function readStatus(text: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && value.name === 'mcpx' && Array.isArray(value.profiles)
      ? (value as unknown as Status)
      : undefined;
  } catch {
    return undefined;
  }
}

function stranger(base: string, cause?: unknown): McpxError {
  return new McpxError('unreachable', `what answers at ${base} is not mcpx`, {
    hint: 'mcpx status --url names the address of a gateway, such as http://127.0.0.1:3095',
    cause,
  });
}

/** What fetch wraps, such as ECONNREFUSED; the words of a TLS library help nobody. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return codeOf(cause) ?? messageOf(cause);
}

function report({ version, uptime, profiles, calls, problems = [] }: Status, base: string): string {
  const several = profiles.length > 1;
  const rows = profiles.flatMap(({ name, enabled, servers }) =>
    servers.map((server) => [...(several ? [name] : []), ...row(server, enabled)]),
  );
  const conflicts = profiles.flatMap(({ conflicts = [] }) => conflicts.map(clash));
  const head = `mcpx ${version} at ${base}, up ${duration(uptime)}, ${calls.calls} calls, ${calls.errors} failed`;
  const servers = rows.length === 0 ? ['no server is configured'] : [table(rows)];
  return [head, ...problems.map((problem) => `problem: ${problem}`), ...servers, ...conflicts].join('\n');
}

function clash({ kind, name, servers }: Conflict): string {
  return `not exposed: the ${kind} "${name}", which ${servers.join(' and ')} have ("naming.onConflict" is "error")`;
}

function row(server: ServerStatus, enabled: boolean): string[] {
  const { name, type, state, tools, nextTry, reason = '' } = server;
  const next =
    nextTry === undefined ? '' : `next try in ${Math.max(0, Math.ceil((Date.parse(nextTry) - Date.now()) / 1000))} s`;
  const remark = [reason.split('\n')[0], next].filter((part) => part !== '').join('; ');
  return [name, type, enabled ? state : 'profile disabled', tools === 1 ? '1 tool' : `${tools} tools`, remark];
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
