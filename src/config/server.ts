/** Reads one server entry, in the dialect of any supported client, as a `ServerSpec`. */
import { type BuiltinServer, type Filter, type Place, SERVER_DEFAULTS, type ServerSpec } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import { isRecord, type JsonRecord, kindOf } from './json-data.ts';
import { collectFields, type Dialect, type ServerFields, SUSPICIOUS_MS, type Written } from './server-fields.ts';
import { NAME_RULE, nameKey, serverName } from './server-names.ts';
import { readTarget } from './server-target.ts';
import { looksLikeServer } from './shapes.ts';

export type Entry =
  /** A server. `timed` is true if the entry has its own `timeout`. */
  | { kind: 'server'; spec: ServerSpec; timed: boolean }
  /** An entry that only says `{"disabled": true}`. It disables the server of that name in an earlier file. */
  | { kind: 'off'; name: string; place: Place };

/** Returns undefined for an entry that is wrong or that only another client can run; both are reported. */
export function readServer(written: Written, dialect: Dialect, findings: Diagnostics): Entry | undefined {
  const server = asRecord(written, findings);
  if (server === undefined || isForeign(server, dialect, findings)) return undefined;
  const parts = collectFields(server, dialect, findings);
  const base = readBase(server, parts, findings);
  if (isOffSwitch(parts, base.disabled)) return { kind: 'off', name: base.name, place: base.place };
  const target = readTarget(server, parts, findings);
  return target === undefined
    ? undefined
    : { kind: 'server', spec: { ...base, ...target }, timed: parts.part('timeout') !== undefined };
}

export function entryKey(entry: Entry): string {
  return nameKey(entry.kind === 'off' ? entry.name : entry.spec.name);
}

function asRecord({ name, value, place }: Written, findings: Diagnostics): Written<JsonRecord> | undefined {
  if (isRecord(value)) return { name, value, place };
  const hint = 'write {"command": "…"} or {"url": "…"}';
  findings.error({ message: `server "${name}" must be an object, not ${kindOf(value)}`, place, hint });
  return undefined;
}

function isForeign({ name, value, place }: Written<JsonRecord>, dialect: Dialect, findings: Diagnostics): boolean {
  const installed = Object.hasOwn(value, 'settings') && !looksLikeServer(value) ? 'extension' : undefined;
  const marks = [value.type, value.source, installed];
  const mark = marks.find((text) => typeof text === 'string' && dialect.foreign?.includes(text));
  if (mark === undefined) return false;
  findings.warn({
    message: `server "${name}" is skipped: only the client that wrote the file can run "${mark}" entries`,
    place,
  });
  return true;
}

function isOffSwitch(parts: ServerFields, disabled: boolean): boolean {
  return disabled && parts.slots().every((slot) => slot === 'disabled' || slot === 'enabled');
}

type Base = Omit<BuiltinServer, 'type' | 'builtin'>;

function readBase(server: Written<JsonRecord>, parts: ServerFields, findings: Diagnostics): Base {
  const named = serverName(server.name);
  if (named.title !== undefined) {
    const message = `server ${JSON.stringify(server.name)} is called "${named.name}" in tools and commands`;
    findings.warn({ message, place: server.place, part: 'key', hint: `a name has ${NAME_RULE}` });
  }
  const description = parts.read<string>('description');
  const share = parts.read<NonNullable<Base['share']>>('share');
  return {
    ...named,
    ...(description === undefined || description === '' ? {} : { description }),
    disabled: readDisabled(server, parts, findings),
    timeout: readTimeout('timeout', server, parts, findings) ?? SERVER_DEFAULTS.timeout,
    startupTimeout: readTimeout('startupTimeout', server, parts, findings) ?? SERVER_DEFAULTS.startupTimeout,
    ...(share === undefined ? {} : { share }),
    concurrency: parts.read<number>('concurrency') ?? SERVER_DEFAULTS.concurrency,
    reconnect: readReconnect(parts),
    tools: readTools(parts),
    resources: parts.read<Filter>('resources') ?? {},
    prompts: parts.read<Filter>('prompts') ?? {},
    place: server.place,
  };
}

function readDisabled(server: Written, parts: ServerFields, findings: Diagnostics): boolean {
  const [disabled, enabled] = [parts.read<boolean>('disabled'), parts.read<boolean>('enabled')];
  if (disabled !== undefined && disabled === enabled) {
    const message = `"enabled" and "disabled" of server "${server.name}" contradict each other`;
    const place = parts.part('enabled')?.place ?? server.place;
    findings.error({ message, place, part: 'key', hint: 'keep "disabled"' });
  }
  return disabled ?? enabled === false;
}

function readTimeout(
  slot: 'timeout' | 'startupTimeout',
  server: Written,
  parts: ServerFields,
  findings: Diagnostics,
): number | undefined {
  const part = parts.part(slot);
  const value = part?.value;
  if (part !== undefined && part.seconds !== true && typeof value === 'number' && value > 0 && value < SUSPICIOUS_MS) {
    const message = `"${slot}" of server "${server.name}" is ${value} milliseconds`;
    findings.warn({ message, place: part.place, hint: `write "${value}s" if you meant seconds` });
  }
  return parts.read<number>(slot);
}

function readReconnect(parts: ServerFields): Base['reconnect'] {
  const given = parts.read<Partial<Base['reconnect']>>('reconnect') ?? {};
  const { interval, maxRetries } = SERVER_DEFAULTS.reconnect;
  return {
    interval: given.interval ?? parts.read<number>('reconnect.interval') ?? interval,
    maxRetries: given.maxRetries ?? parts.read<number>('reconnect.maxRetries') ?? maxRetries,
  };
}

/** Reads the tool filter. `["*"]` as `allow` and an empty `deny` are no filter. */
function readTools(parts: ServerFields): Filter {
  const given = parts.read<Filter>('tools') ?? {};
  const allow = given.allow ?? parts.read<string[]>('tools.allow');
  const deny = [...(given.deny ?? []), ...(parts.read<string[]>('tools.deny') ?? [])];
  const all = allow?.length === 1 && allow[0] === '*';
  return {
    ...(allow === undefined || all ? {} : { allow }),
    ...(deny.length === 0 ? {} : { deny }),
  };
}
