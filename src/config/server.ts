/** One server entry, whatever program it was written for, as a `ServerSpec`. */
import { type BuiltinServer, type Filter, type Place, SERVER_DEFAULTS, type ServerSpec } from './config.ts';
import type { Findings } from './findings.ts';
import { isRecord, type JsonRecord, kindOf } from './json.ts';
import { NAME_RULE, nameKey, serverName } from './names.ts';
import { type Dialect, gatherParts, type Parts, SUSPICIOUS_MS, type Written } from './parts.ts';
import { looksLikeServer } from './shapes.ts';
import { readTarget } from './target.ts';

export type Entry =
  /** `timed`: the entry has a `timeout` of its own. */
  | { kind: 'server'; spec: ServerSpec; timed: boolean }
  /** Only `{"disabled": true}`: switches off the server of that name in an earlier file. */
  | { kind: 'off'; name: string; place: Place };

/** Undefined for an entry that is wrong, or that only its own program could run; both were told. */
export function readServer(written: Written, dialect: Dialect, findings: Findings): Entry | undefined {
  const server = asRecord(written, findings);
  if (server === undefined || isForeign(server, dialect, findings)) return undefined;
  const parts = gatherParts(server, dialect, findings);
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

function asRecord({ name, value, place }: Written, findings: Findings): Written<JsonRecord> | undefined {
  if (isRecord(value)) return { name, value, place };
  const hint = 'write {"command": "…"} or {"url": "…"}';
  findings.error({ message: `server "${name}" must be an object, not ${kindOf(value)}`, place, hint });
  return undefined;
}

function isForeign({ name, value, place }: Written<JsonRecord>, dialect: Dialect, findings: Findings): boolean {
  const installed = Object.hasOwn(value, 'settings') && !looksLikeServer(value) ? 'extension' : undefined;
  const marks = [value.type, value.source, installed];
  const mark = marks.find((text) => typeof text === 'string' && dialect.foreign?.includes(text));
  if (mark === undefined) return false;
  findings.warn({
    message: `server "${name}" is skipped: "${mark}" entries belong to the program that wrote them`,
    place,
  });
  return true;
}

function isOffSwitch(parts: Parts, disabled: boolean): boolean {
  return disabled && parts.slots().every((slot) => slot === 'disabled' || slot === 'enabled');
}

type Base = Omit<BuiltinServer, 'type' | 'builtin'>;

function readBase(server: Written<JsonRecord>, parts: Parts, findings: Findings): Base {
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

function readDisabled(server: Written, parts: Parts, findings: Findings): boolean {
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
  parts: Parts,
  findings: Findings,
): number | undefined {
  const part = parts.part(slot);
  const value = part?.value;
  if (part !== undefined && part.seconds !== true && typeof value === 'number' && value > 0 && value < SUSPICIOUS_MS) {
    const message = `"${slot}" of server "${server.name}" is ${value} milliseconds`;
    findings.warn({ message, place: part.place, hint: `write "${value}s" if you meant seconds` });
  }
  return parts.read<number>(slot);
}

function readReconnect(parts: Parts): Base['reconnect'] {
  const given = parts.read<Partial<Base['reconnect']>>('reconnect') ?? {};
  const { interval, maxRetries } = SERVER_DEFAULTS.reconnect;
  return {
    interval: given.interval ?? parts.read<number>('reconnect.interval') ?? interval,
    maxRetries: given.maxRetries ?? parts.read<number>('reconnect.maxRetries') ?? maxRetries,
  };
}

/** `["*"]` allows everything and an empty list denies nothing: neither is a filter. */
function readTools(parts: Parts): Filter {
  const given = parts.read<Filter>('tools') ?? {};
  const allow = given.allow ?? parts.read<string[]>('tools.allow');
  const deny = [...(given.deny ?? []), ...(parts.read<string[]>('tools.deny') ?? [])];
  const all = allow?.length === 1 && allow[0] === '*';
  return {
    ...(allow === undefined || all ? {} : { allow }),
    ...(deny.length === 0 ? {} : { deny }),
  };
}
