/** `mcpx status`: prints the servers of a running gateway with their states, reasons and next retries. */
import { environmentOf, lookup } from '../config/environment.ts';
import { McpxError, messageOf } from '../errors.ts';
import { codeOf } from '../files.ts';
import type { Conflict, ServerStatus, Status } from '../listen/app-api.ts';
import { urlOf } from '../listen/http/guard.ts';
import { isRecord } from '../wire/message.ts';
import type { Flags, Invocation } from './command.ts';
import { readConfig } from './command-app.ts';
import { print, printJson, table } from './output.ts';

/** Timeout of the request to the gateway in milliseconds. */
const PATIENCE = 5000;

export async function run({ flags }: Invocation): Promise<number> {
  const base = flags.value('url')?.replace(/\/(?:mcp\/?)?$/, '') ?? configured(flags);
  if (!URL.canParse(base))
    throw new McpxError('usage', `"${base}" is not a URL`, { hint: 'mcpx status --url http://127.0.0.1:3095' });
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
  const token = lookup('MCPX_TOKEN', environmentOf());
  const { status, text } = await get(`${base}/api/status`, token).catch((cause) => {
    const reason = reasonOf(cause);
    // Codes with this prefix come from Node's HTTP parser: the response is not HTTP.
    if (reason.startsWith('HPE_')) throw stranger(base, cause);
    throw new McpxError('unreachable', `no gateway answers at ${base}: ${reason}`, {
      hint: 'mcpx serve --http starts one; mcpx tools connects to the servers directly',
      cause,
    });
  });
  if (status === 401) {
    const why = token === undefined ? 'requires a token' : 'rejected the token in MCPX_TOKEN';
    throw new McpxError('auth', `the gateway at ${base} ${why}`, { hint: 'set MCPX_TOKEN to one of its tokens' });
  }
  // Every gateway serves this path.
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
  return new McpxError('unreachable', `the server at ${base} is not mcpx`, {
    hint: 'set the address of a gateway: mcpx status --url http://127.0.0.1:3095',
    cause,
  });
}

/** Returns the code of the error that fetch wraps, such as ECONNREFUSED, which is clearer than messages of the TLS library. */
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
  return `not exposed: the ${kind} "${name}" of ${servers.join(' and ')}, because "naming.onConflict" is "error"`;
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
