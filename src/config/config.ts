/** Types and defaults of the internal configuration, into which every accepted file shape is converted. */
import type { LogLevel } from '../observe/log.ts';
import { type GatewayOAuth, OAUTH_DEFAULTS } from './gateway-oauth.ts';

/** Globs over names. `deny` wins over `allow`; an absent `allow` allows everything. */
export interface Filter {
  allow?: string[];
  deny?: string[];
}

/** The file and the path at which an entry is written, for messages. */
export interface Place {
  file: string;
  /** JSON path inside the file, such as `["mcpServers", "github"]`. */
  path: (string | number)[];
}

interface ServerBase {
  /** The name of the server; `isServerName` checks its form. */
  name: string;
  /** The ASCII form of the name in exposed names; undefined if the name is ASCII. */
  label?: string;
  /** The name as written; undefined if it did not have to be changed. */
  title?: string;
  /** Text that clients see instead of the server's own instructions. */
  description?: string;
  disabled: boolean;
  /** Timeout of one call in ms (default: `limits.callTimeout`). */
  timeout: number;
  /** Timeout for spawn or connect, handshake and first list together, in ms (default 60 s). */
  startupTimeout: number;
  /** The clients that share one connection; if undefined, all do, unless the launch or the client's roots differ between clients. */
  share?: 'all' | 'session' | 'call';
  /** The maximum number of calls in flight (default 128). */
  concurrency: number;
  /** The first delay of a reconnect in ms (default 500) and the number of retries (default 10). */
  reconnect: { interval: number; maxRetries: number };
  tools: Filter;
  resources: Filter;
  prompts: Filter;
  place: Place;
}

export interface StdioServer extends ServerBase {
  type: 'stdio';
  /** May hold placeholders, which `src/config/env.ts` expands when the server starts. */
  command: string;
  args: string[];
  /** A value of `null` removes the variable from the child's environment. */
  env: Record<string, string | null>;
  /** Paths of env files, relative to the folder of the defining file; they may hold placeholders. */
  envFile: string[];
  cwd?: string;
  framing: 'newline' | 'content-length';
}

export interface RemoteServer extends ServerBase {
  /** `auto` tries Streamable HTTP first, then the deprecated HTTP+SSE transport. */
  type: 'http' | 'sse' | 'ws' | 'auto';
  url: string;
  headers: Record<string, string>;
  /** A program and its arguments, which print more headers; they may hold placeholders. */
  headersHelper?: string[];
  /** Milliseconds for which its headers are used. */
  headersHelperCache?: number;
  oauth?: Record<string, unknown>;
}

export interface ModuleServer extends ServerBase {
  type: 'module';
  module: string;
}

export interface BuiltinServer extends ServerBase {
  type: 'builtin';
  /** The name of the toolbox: `time`, `text`, `math`, `memory` or `json`. */
  builtin: string;
}

export type ServerSpec = StdioServer | RemoteServer | ModuleServer | BuiltinServer;
export type ServerType = ServerSpec['type'];

export interface Profile {
  name: string;
  enabled: boolean;
  /** All servers in config order, including disabled ones. */
  servers: ServerSpec[];
  front?: FrontKind;
  tools: Filter;
  resources: Filter;
  prompts: Filter;
}

export type FrontKind = 'compact' | 'aggregate';

export interface Token {
  name: string;
  /** The secret, in which placeholders are not expanded yet. */
  token: string;
  profiles?: string[];
  /** Globs over names of servers; undefined allows all. */
  servers?: string[];
  tools: Filter;
  resources: Filter;
  prompts: Filter;
  admin: boolean;
  /** Relative paths in the token are resolved from this file's folder. Undefined for a token that comes from the environment. */
  place?: Place;
}

/** The rights of a token. */
export type TokenRights = Pick<Token, 'profiles' | 'servers' | 'tools' | 'resources' | 'prompts' | 'admin'>;

/** All settings except servers and profiles. Durations are in ms, sizes in bytes; `DEFAULTS` holds the documented defaults. */
export interface Settings {
  http: {
    host: string;
    port: number;
    auth: { tokens: Token[]; oauth: GatewayOAuth };
    cors: { origins: string[] };
    hosts: string[];
    trustProxy: boolean;
    maxBody: number;
    /** Requests per second and token; null means no limit. */
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
    menuBudget: number | null;
    /** null offers `exec_read` only to clients that approve tools by their annotations. */
    execSplit: boolean | null;
    structured: 'always' | 'never' | 'auto';
    /** True for clients that fail on a text that is JSON but no object. It cannot be set in a file. */
    labelsJson?: boolean;
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
    keepChars: number;
    /** The limit of a result in UTF-8 bytes, for clients that limit bytes. It cannot be set in a file. */
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
    /** If true, every call is refused while the file cannot be written. */
    required: boolean;
  };
  stats: boolean;
  watch: boolean;
  offline: boolean;
}

export interface Config {
  /** The files that were read, lowest precedence first; empty for the demo and if there is no file. */
  files: string[];
  settings: Settings;
  /** At least one profile, in config order. */
  profiles: Profile[];
  /** The profile that `--profile` or MCPX_PROFILE named; it exists and is enabled. */
  profile?: string;
  /** Warnings that `serve` and `config validate` write to stderr once. */
  warnings: Warning[];
}

export interface Warning {
  message: string;
  place?: Place;
  /** 1-based; undefined if the warning has no place. */
  line?: number;
  column?: number;
  hint?: string;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const MIB = 1024 * 1024;

/** A call that succeeds without mcpx must not time out in mcpx. Clients have shorter timeouts and cancel the call themselves. */
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
    auth: { tokens: [], oauth: OAUTH_DEFAULTS },
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
  front: { kind: 'compact', dialect: 'inspect', menuBudget: null, execSplit: null, structured: 'auto' },
  naming: { style: 'prefix', separator: '__', maxLength: 53, onConflict: 'first-wins', resources: 'wrap' },
  compression: { schema: 'typescript', toon: 'auto', toonMinSize: 3, maxDescription: 160, maxInstructions: 300 },
  search: { usage: true },
  connect: { mode: 'lazy', concurrency: 8, firstListWait: 3 * SECOND, idleStop: 10 * MINUTE, inheritEnv: 'safe' },
  health: { enabled: true, interval: 30 * SECOND, failures: 3 },
  limits: {
    resultChars: 40_000,
    keepChars: 16_000,
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
export const BUILTINS = ['time', 'math', 'memory'] as const;

/** Built-in servers of earlier versions. */
export const REMOVED_BUILTINS = ['text', 'json'] as const;

export type ProfileWord = 'profile' | 'schema';

/** Returns the word that the file uses for this profile. Without a known name, it returns the word for any of its profiles. */
export function profileWord({ profiles }: Pick<Config, 'profiles'>, name?: string): ProfileWord {
  const named = profiles.find((profile) => profile.name === name);
  const isSchema = (named === undefined ? profiles : [named]).some(({ servers }) =>
    servers.some(({ place }) => place.path[0] === 'schemas'),
  );
  return isSchema ? 'schema' : 'profile';
}

/** Returns the main profile if it is only the first of several: none was named, and none is called `default`. */
export function unchosenProfile(config: Pick<Config, 'profiles' | 'profile'>): string | undefined {
  const enabled = config.profiles.filter((profile) => profile.enabled);
  const isChosen = config.profile !== undefined || enabled.some(({ name }) => name === 'default');
  return isChosen || enabled.length < 2 ? undefined : enabled[0]?.name;
}

/** Returns the profile that `/mcp` and stdio serve: the one named by an option, else `default`, else the first enabled one. */
export function mainProfile(config: Pick<Config, 'profiles' | 'profile'>): Profile | undefined {
  const { profiles, profile: asked = 'default' } = config;
  return profiles.find(({ enabled, name }) => enabled && name === asked) ?? profiles.find(({ enabled }) => enabled);
}
