/** Every key of the config file with its type, limits and description. The JSON Schema and the reader use this table. */
import { BUILTINS, type Settings } from './config.ts';
import {
  choice,
  duration,
  FILTERS,
  type Field,
  type Fields,
  flag,
  group,
  size,
  text,
  texts,
  whole,
} from './field-kinds.ts';
import { OAUTH } from './gateway-oauth-fields.ts';

/** The fields of one HTTP token. */
export const TOKEN: Field = {
  kind: 'group',
  required: ['name', 'token'],
  fields: {
    name: text('Shown in the audit log instead of the token.'),
    token: text('The secret itself; write it as "${VAR}" and set that variable.'),
    profiles: texts('Profiles that this token may use. Absent: all.'),
    servers: texts('Globs of servers that this token may use. Absent: all.'),
    ...FILTERS,
    admin: flag('Whether it may change servers at run time (default false).'),
  },
};

/** The fields of one entry of `mcpServers`. `SERVER_DEFAULTS` holds their defaults. */
export const SERVER = {
  type: choice(
    'How to reach it. Without it: a command is "stdio", a URL is "http", then "sse".',
    ...[...['stdio', 'http', 'sse', 'ws', 'auto', 'module', 'builtin']],
  ),
  command: text('The program to start; a path with a slash is relative to this file. No shell is involved.'),
  args: { kind: 'list', of: { kind: 'scalar' }, doc: 'Its arguments, one by one.' },
  env: {
    kind: 'map',
    of: { kind: 'scalar', nullable: true },
    doc: 'Variables for it; null removes one that it would inherit.',
  },
  envFile: texts('Files of NAME=value lines, relative to this file; a later one wins, "env" wins over all.', {
    single: true,
  }),
  cwd: text('Its working directory, relative to this file.'),
  framing: choice('How messages are separated on its pipes.', 'newline', 'content-length'),
  url: text('Where it listens.'),
  headers: { kind: 'map', of: { kind: 'scalar' }, doc: 'HTTP headers sent with every request.' },
  headersHelper: {
    kind: 'list',
    of: { kind: 'scalar' },
    single: true,
    doc: 'A program and its arguments: it prints a JSON object of more headers. No shell is involved.',
  },
  headersHelperCache: duration('For how long its headers are used (default 5m); a number is milliseconds.'),
  oauth: {
    kind: 'open',
    doc: 'OAuth: clientId (null registers one), clientSecret, clientMetadataUrl, privateKey, scopes, grant, callbackPort, issuer.',
  },
  module: text('A JavaScript file that exports tools, relative to this file.'),
  builtin: choice('A toolbox inside mcpx (default: the one with the name of the server).', ...BUILTINS),
  disabled: flag('Whether it is switched off (default false).'),
  description: text('Shown instead of its own instructions.'),
  timeout: duration('One call (default: limits.callTimeout); a number is milliseconds.'),
  startupTimeout: duration('Start, handshake and first list; a number is milliseconds.'),
  share: choice('Who shares one connection: every client, one session, one call.', 'all', 'session', 'call'),
  concurrency: whole('Calls in flight at once.', 1),
  reconnect: group('After it was lost.', {
    interval: duration('The first delay; it doubles from there.'),
    maxRetries: whole('Tries before it rests until the next call.'),
  }),
  ...FILTERS,
} as const satisfies Fields;

export type ServerField = keyof typeof SERVER;

/** The fields of one entry of `profiles`. */
export const PROFILE = {
  enabled: flag('Whether it can be used (default true).'),
  servers: texts('Names from the top-level "mcpServers"; "*" means all of them.'),
  mcpServers: { kind: 'servers', doc: 'Servers that belong to this profile and to no other.' },
  front: choice('What clients see in this profile.', 'compact', 'aggregate'),
  ...FILTERS,
} as const satisfies Fields;

/** All keys except servers and profiles. `DEFAULTS` holds their defaults. */
export const SETTINGS = {
  http: group('The HTTP listener.', {
    host: text('The address to listen on; one that is not loopback needs a token.'),
    port: { kind: 'integer', min: 0, max: 65535, doc: 'The port; 0 picks a free one.' },
    auth: group('Who may use it.', {
      tokens: { kind: 'list', of: TOKEN, doc: 'Bearer tokens. None: anybody on loopback.' },
      oauth: OAUTH,
    }),
    cors: group('Web pages that may use it.', { origins: texts('Such as "https://app.example"; there is no "*".') }),
    hosts: texts('Further names that a Host header may carry.'),
    trustProxy: flag('Believe a proxy in front: X-Forwarded-Host for the check of Host, X-Forwarded-For in logs.'),
    maxBody: size('The largest request body.'),
    rate: { kind: 'number', nullable: true, doc: 'Requests per second and token; null = no limit.' },
    admin: group('Changes at run time.', { commands: flag('Allow servers that start programs, and not only URLs.') }),
    maxSessions: whole('Sessions at once; the idlest goes first.', 1),
    sessionsPerToken: whole('Sessions at once per token.', 1),
    sessionIdle: duration('After this time without a request a session ends.'),
    legacySse: flag('Offer the old transport at /sse.'),
    statusPage: flag('Offer the status page at /.'),
    metrics: flag('Offer Prometheus text at /metrics.'),
  }),
  front: group('What clients see.', {
    kind: choice('Two tools, or every tool under its exposed name.', 'compact', 'aggregate'),
    dialect: choice('Names of the two tools: inspect and exec, or describe and call.', 'inspect', 'describe'),
    menuBudget: {
      ...whole(
        'Characters of the description of "inspect", in which the tools are listed; at most what the client shows. null = 4096 for Claude Code since 2.1.326, 2000 for others.',
      ),
      nullable: true,
    },
    execSplit: {
      ...flag('Offer "exec_read" too, which runs read-only tools only; null = to clients that approve by annotations.'),
      nullable: true,
    },
    structured: choice('When results carry structuredContent.', 'always', 'never', 'auto'),
  }),
  naming: group('Exposed names.', {
    style: choice('The server in front always, only on a clash, or never.', 'prefix', 'collision', 'plain'),
    separator: choice('Between the server and the name; some clients refuse "." and "::".', '__', '-', '_', '.', '::'),
    maxLength: whole('Longer names are shortened, with a hash.', 16),
    onConflict: choice(
      'With style "plain": who gets a name that two servers have.',
      'first-wins',
      'last-wins',
      'error',
    ),
    resources: choice('Give resource URIs the server as well, or leave them.', 'wrap', 'keep'),
  }),
  compression: group('How definitions and results are written.', {
    schema: choice('Tool definitions as TypeScript or as JSON Schema.', 'typescript', 'json'),
    toon: choice('Results as TOON where that is shorter, or never.', 'auto', 'off'),
    toonMinSize: whole('Rows or keys below which TOON is not tried.'),
    maxDescription: whole('Characters of a description in a list.'),
    maxInstructions: whole("Characters of a server's instructions in a list."),
  }),
  search: group('Finding tools by what they do.', {
    usage: flag('Count successful calls of each tool in ~/.mcpx/usage.json, to prefer what is used.'),
  }),
  connect: group('When servers run.', {
    mode: choice('Start a server at its first call, or all at once.', 'lazy', 'eager'),
    concurrency: whole('Servers that start at the same time, and that run only to be listed.', 1),
    firstListWait: duration('How long a first list waits for servers that were never listed.', 0),
    idleStop: duration('An unused server stops after this time; one that was only listed stops within seconds.'),
    inheritEnv: {
      kind: 'enum-or-list',
      values: ['safe', 'all', 'none'],
      doc: 'Variables that started programs inherit: a minimal set, all, none, or a list of names ("AWS_*" works).',
    },
  }),
  health: group('Checks of connected servers.', {
    enabled: flag('Whether to check.'),
    interval: duration('Between two checks.'),
    failures: whole('Failures in a row before a server counts as down.', 1),
  }),
  limits: group('Bounds.', {
    resultChars: whole('Characters of a result; the rest is kept and read with "inspect".', 1),
    keepChars: whole('Characters from which a result is kept for later calls, even if all of it is shown.', 1),
    resultStore: size('Space for such rests, on disk: half of it for one token, a quarter for one client.', 0),
    concurrentCalls: whole(
      'Calls in flight at once, over all servers; one client, or one server, gets at most three quarters.',
      1,
    ),
    children: whole('Processes of servers at once; one client gets at most three quarters.', 1),
    messageBytes: size('The largest single message, either way.', 1024),
    callTimeout: duration('One call, for servers without a "timeout" of their own.'),
  }),
  policy: group('Rules for every profile.', {
    confirm: choice(
      'Ask the user before a tool runs that its server does not declare read-only.',
      'off',
      'destructive',
    ),
    deny: texts(
      'Globs of what nobody may use: over "server.tool" with a server and a dot first, as in "*.drop_*", else over names.',
    ),
  }),
  lock: choice(
    'When a server changed a tool: say nothing, say it, refuse it to sessions that knew it before, or wait for "mcpx lock --accept".',
    ...['off', 'warn', 'session', 'enforce'],
  ),
  log: group('What mcpx says on stderr.', {
    level: choice('The least important lines to write.', 'silent', 'error', 'warn', 'info', 'debug'),
    format: choice('For people or for machines.', 'text', 'json'),
    file: text('Lines are appended here too, relative to this file.', { nullable: true }),
  }),
  audit: group('Who called what.', {
    file: text('JSON lines are appended here, relative to this file; null = no audit.', { nullable: true }),
    values: flag('Write argument values too; they may be secret.'),
    required: flag('Refuse every call while the file cannot be written.'),
  }),
  stats: flag('Count calls and saved tokens.'),
  watch: flag('Reload when this file changes.'),
  offline: flag(
    'Contact nothing but loopback, and let `npx`, `uvx`, `docker run` and similar commands download nothing.',
  ),
} as const satisfies Record<keyof Settings, Field>;

/** All top-level keys of a config file. */
export const DOCUMENT = {
  mcpServers: { kind: 'servers', doc: 'The MCP servers, by name.' },
  profiles: {
    kind: 'profiles',
    doc: 'Named sets of servers with their own rules. Absent: one, "default", with all servers.',
  },
  ...SETTINGS,
} as const satisfies Fields;
