/** The one internal form of the configuration; every accepted file shape becomes this. Types and defaults only. */
import type { LogLevel } from '../observe/log.ts';

/** Globs over names; `deny` wins, an absent `allow` allows everything. */
export interface Filter {
  allow?: string[];
  deny?: string[];
}

/** Where an entry was written, for messages. */
export interface Place {
  file: string;
  /** JSON path inside the file, such as `["mcpServers", "github"]`. */
  path: (string | number)[];
}

interface ServerBase {
  /** See `isServerName`. */
  name: string;
  /** What stands for the name in exposed names, where it is not ASCII. */
  label?: string;
  /** The name as written, where it had to be changed. */
  title?: string;
  /** Shown instead of the server's own instructions. */
  description?: string;
  disabled: boolean;
  /** One call, in ms; default: `limits.callTimeout`. */
  timeout: number;
  /** Spawn or connect, handshake and first list, in ms (default 60 s). */
  startupTimeout: number;
  /** Which downstreams share a connection; undefined = decided by DESIGN's rules. */
  share?: 'all' | 'session' | 'call';
  /** Calls in flight at once (default 128). */
  concurrency: number;
  /** First delay in ms (default 500) and number of tries (default 10) of a reconnect. */
  reconnect: { interval: number; maxRetries: number };
  tools: Filter;
  resources: Filter;
  prompts: Filter;
  place: Place;
}

export interface StdioServer extends ServerBase {
  type: 'stdio';
  /** With placeholders; `config/env.ts` expands them when the server is started. */
  command: string;
  args: string[];
  /** `null` removes the variable from the child. */
  env: Record<string, string | null>;
  /** Absolute after placeholders and the defining file's folder are applied. */
  envFile: string[];
  cwd?: string;
  framing: 'newline' | 'content-length';
}

export interface RemoteServer extends ServerBase {
  /** `auto`: Streamable HTTP, then the old SSE transport. */
  type: 'http' | 'sse' | 'ws' | 'auto';
  url: string;
  headers: Record<string, string>;
  oauth?: Record<string, unknown>;
}

export interface ModuleServer extends ServerBase {
  type: 'module';
  module: string;
}

export interface BuiltinServer extends ServerBase {
  type: 'builtin';
  /** Which toolbox: `time`, `text`, `math`, `memory` or `json`. */
  builtin: string;
}

export type ServerSpec = StdioServer | RemoteServer | ModuleServer | BuiltinServer;
export type ServerType = ServerSpec['type'];

export interface Profile {
  name: string;
  enabled: boolean;
  /** In config order; disabled ones included. */
  servers: ServerSpec[];
  front?: FrontKind;
  tools: Filter;
  resources: Filter;
  prompts: Filter;
}

export type FrontKind = 'compact' | 'aggregate';

export interface Token {
  name: string;
  /** With placeholders. */
  token: string;
  profiles?: string[];
  /** Globs over names of servers; absent = all. */
  servers?: string[];
  tools: Filter;
  resources: Filter;
  prompts: Filter;
  admin: boolean;
  /** Relative files in the token belong to this file's folder; absent for one that was not written in a file. */
  place?: Place;
}

/** Everything but servers and profiles; the values of `DEFAULTS` are the documented defaults. Durations in ms, sizes in bytes. */
export interface Settings {
  http: {
    host: string;
    port: number;
    auth: { tokens: Token[] };
    cors: { origins: string[] };
    hosts: string[];
    trustProxy: boolean;
    maxBody: number;
    /** Calls per second and token; null = no limit. */
    rate: number | null;
    admin: { commands: boolean };
    maxSessions: number;
    sessionsPerToken: number;
    sessionIdle: number;
    legacySse: boolean;
    statusPage: boolean;
    metrics: boolean;
  };
  front: {
    kind: FrontKind;
    dialect: 'inspect' | 'describe';
    menuBudget: number;
    /** null: for clients that approve tools by their annotations. */
    execSplit: boolean | null;
    structured: 'always' | 'never' | 'auto';
  };
  naming: {
    style: 'prefix' | 'collision' | 'plain';
    separator: string;
    maxLength: number;
    onConflict: 'first-wins' | 'last-wins' | 'error';
    resources: 'wrap' | 'keep';
  };
  compression: {
    schema: 'typescript' | 'json';
    toon: 'auto' | 'off';
    toonMinSize: number;
    maxDescription: number;
    maxInstructions: number;
  };
  search: { usage: boolean };
  connect: {
    mode: 'lazy' | 'eager';
    concurrency: number;
    firstListWait: number;
    idleStop: number;
    inheritEnv: 'safe' | 'all' | 'none' | string[];
  };
  health: { enabled: boolean; interval: number; failures: number };
  limits: {
    resultChars: number;
    /** UTF-8 bytes of a result, for clients that count those; never in a file. */
    resultBytes?: number;
    resultStore: number;
    concurrentCalls: number;
    children: number;
    messageBytes: number;
    callTimeout: number;
  };
  policy: { confirm: 'off' | 'destructive'; deny: string[] };
  lock: 'off' | 'warn' | 'session' | 'enforce';
  log: { level: LogLevel; format: 'text' | 'json'; file: string | null };
  audit: {
    file: string | null;
    values: boolean;
    /** No call runs while the file cannot be written. */
    required: boolean;
  };
  stats: boolean;
  watch: boolean;
  offline: boolean;
}

export interface Config {
  /** The files it came from, lowest first; empty for the demo and for no file at all. */
  files: string[];
  settings: Settings;
  /** In config order; always at least one. */
  profiles: Profile[];
  /** The profile that `--profile` or MCPX_PROFILE named; it exists and is enabled. */
  profile?: string;
  /** Said once on stderr by `serve` and `config validate`. */
  warnings: Warning[];
}

export interface Warning {
  message: string;
  place?: Place;
  /** 1-based, where there is a place. */
  line?: number;
  column?: number;
  hint?: string;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const MIB = 1024 * 1024;

/** A call that works without mcpx must not time out in it: clients give up earlier, and cancel. */
const CALL_TIMEOUT = 10 * MINUTE;

export const SERVER_DEFAULTS = {
  timeout: CALL_TIMEOUT,
  startupTimeout: MINUTE,
  concurrency: 128,
  reconnect: { interval: 500, maxRetries: 10 },
} as const;

export const DEFAULTS: Settings = {
  http: {
    host: '127.0.0.1',
    port: 3095,
    auth: { tokens: [] },
    cors: { origins: [] },
    hosts: [],
    trustProxy: false,
    maxBody: 4 * MIB,
    rate: null,
    admin: { commands: false },
    maxSessions: 1000,
    sessionsPerToken: 200,
    sessionIdle: 30 * MINUTE,
    legacySse: false,
    statusPage: true,
    metrics: true,
  },
  front: { kind: 'compact', dialect: 'inspect', menuBudget: 2000, execSplit: null, structured: 'auto' },
  naming: { style: 'prefix', separator: '__', maxLength: 53, onConflict: 'first-wins', resources: 'wrap' },
  compression: { schema: 'typescript', toon: 'auto', toonMinSize: 3, maxDescription: 160, maxInstructions: 300 },
  search: { usage: true },
  connect: { mode: 'lazy', concurrency: 8, firstListWait: 3 * SECOND, idleStop: 10 * MINUTE, inheritEnv: 'safe' },
  health: { enabled: true, interval: 30 * SECOND, failures: 3 },
  limits: {
    resultChars: 40_000,
    resultStore: 1024 * MIB,
    concurrentCalls: 2048,
    children: 256,
    messageBytes: 16 * MIB,
    callTimeout: CALL_TIMEOUT,
  },
  policy: { confirm: 'off', deny: [] },
  lock: 'session',
  log: { level: 'info', format: 'text', file: null },
  audit: { file: null, values: false, required: false },
  stats: true,
  watch: false,
  offline: false,
};

/** The toolboxes inside mcpx, for servers of type `builtin`. */
export const BUILTINS = ['time', 'text', 'math', 'memory', 'json'] as const;

export type ProfileWord = 'profile' | 'schema';

/** How the file calls this profile; without a name, or for one that it does not have, how it calls any. */
export function profileWord({ profiles }: Pick<Config, 'profiles'>, name?: string): ProfileWord {
  const named = profiles.find((profile) => profile.name === name);
  const isSchema = (named === undefined ? profiles : [named]).some(({ servers }) =>
    servers.some(({ place }) => place.path[0] === 'schemas'),
  );
  return isSchema ? 'schema' : 'profile';
}

/** The profile that is meant without a name, where nobody chose it: the first of several, none of which is `default`. */
export function unchosenProfile(config: Pick<Config, 'profiles' | 'profile'>): string | undefined {
  const enabled = config.profiles.filter((profile) => profile.enabled);
  const isChosen = config.profile !== undefined || enabled.some(({ name }) => name === 'default');
  return isChosen || enabled.length < 2 ? undefined : enabled[0]?.name;
}

/** The profile that `/mcp` and stdio mean without a name: the one asked for, else `default`, else the first enabled one. */
export function mainProfile(config: Pick<Config, 'profiles' | 'profile'>): Profile | undefined {
  const { profiles, profile: asked = 'default' } = config;
  return profiles.find(({ enabled, name }) => enabled && name === asked) ?? profiles.find(({ enabled }) => enabled);
}
