/** Opens one connection to an upstream: launches the transport and performs the handshake. */
import { randomUUID } from 'node:crypto';

import type { ServerSpec, Settings } from '../../config/config.ts';
import { type Launch, resolveLaunch } from '../../config/env.ts';
import { McpxError, RpcError } from '../../errors.ts';
import type { Introduction } from '../../mcp/envelope.ts';
import type { Log } from '../../observe/log.ts';
import { METHOD_NOT_FOUND } from '../../wire/message.ts';
import { createPeer, type PeerHandlers } from '../../wire/peer.ts';
import type { StartSteps } from '../connection-interface.ts';
import { handshake } from '../era/era.ts';
import { createEraChannel } from '../era/era-channel.ts';
import type { Handshake, Remembered } from '../handshake.ts';
import { type Authorization, type Authorize, staticAuthorization } from '../http/authorization.ts';
import { FETCH_LIMIT, launcherOf } from '../process/launcher.ts';
import { quote } from '../process/process-errors.ts';
import { createRedactor } from '../secret-redactor.ts';
import type { Transport, TransportOptions } from '../transports/transport.ts';
import { openTransport } from '../transports/transports.ts';
import type { Link } from './link.ts';
import { explainOffline, stayOffline } from './offline.ts';
import { limitStart, type StartLimit } from './start-timeout.ts';

export interface LinkOptions {
  spec: ServerSpec;
  settings: Pick<Settings, 'connect' | 'limits'> & Partial<Pick<Settings, 'offline'>>;
  log: Log;
  /** The client info and capabilities sent in the handshake (default: mcpx without any capability). */
  introduction?: Introduction | undefined;
  /** Returns the era, transport and framing of the last connection, which are tried first. */
  recall?: ((spec: ServerSpec) => Remembered | undefined) | undefined;
  /** The value of `${workspaceFolder}` (default: the working directory). */
  workspaceFolder?: string | undefined;
  /** Receives every line that the process writes to stderr. */
  stderr?: ((line: string) => void) | undefined;
  /** Creates the credentials of a server with a URL (default: the configured headers). */
  authorize?: Authorize | undefined;
  /** Receives slow-start lines in place of the log. */
  attended?: ((line: string) => void) | undefined;
  /** Aborts when the upstream is no longer needed. */
  signal: AbortSignal;
  /** Receives the transport as soon as it is open; the caller must stop it even if the handshake fails. */
  opened(transport: Transport): void;
  /** Receives the durations of the start after each step, and undefined at its beginning. */
  stepped?: ((steps: StartSteps | undefined) => void) | undefined;
  reserveSecond?: TransportOptions['reserveSecond'];
  /** Receives the launcher that downloads the server, and undefined when the download has ended. */
  fetching?: ((launcher: string | undefined) => void) | undefined;
  handlers: PeerHandlers;
}

/**
 * The maximum number of concurrent requests from one upstream: a shared connection may send requests to many clients.
 */
const MAX_INCOMING = 256;

export async function openLink(options: LinkOptions): Promise<Link> {
  const { spec, settings, log, signal, opened, handlers, workspaceFolder, stderr, stepped } = options;
  const begun = performance.now();
  stepped?.(undefined);
  const { secrets, ...resolved } = resolveLaunch(spec, {
    inheritEnv: settings.connect.inheritEnv,
    ...(workspaceFolder !== undefined && { workspaceFolder }),
  });
  const launch = settings.offline ? stayOffline(spec, resolved) : resolved;
  const authorization = authorizationOf(spec.name, launch, options.authorize);
  const redactor = createRedactor(secrets, () => authorization.secrets?.() ?? []);
  const { messageBytes: maxBytes } = settings.limits;
  const remembered = options.recall?.(spec);
  const transport = await openTransport(launch, {
    name: spec.name,
    maxBytes,
    log,
    redactor,
    authorization,
    remembered: remembered?.transport,
    reserveSecond: options.reserveSecond,
    framing: remembered && (remembered.framing ?? 'newline'),
    ...(stderr && { stderr }),
  }).catch((error) => {
    throw redactor.error(error);
  });
  const open = performance.now() - begun;
  stepped?.({ open });
  opened(transport);
  const subject = `server "${spec.name}"`;
  const channel = createEraChannel(transport);
  let noise: string | undefined;
  const invalid = (reason: string) => {
    const safe = redactor.text(reason);
    noise ??= NOT_JSON.exec(safe)?.[1];
    handlers.invalid?.(safe);
  };
  const echo = detectEcho(handlers);
  const peer = createPeer(channel, {
    ...handlers,
    request: echo.request,
    invalid,
    subject,
    maxIncoming: MAX_INCOMING,
    redact: redactor.error,
  });
  const limit = limitStart({
    ...{ spec, transport, signal, slow: options.attended ?? log.info },
    changed: (by) => options.fetching?.(by),
  });
  const { timeout } = limit;
  try {
    const introduction = options.introduction ?? { capabilities: {} };
    const first = remembered?.era ?? usualEra(spec);
    const hello = await handshake(peer, {
      name: spec.name,
      ...introduction,
      first,
      channel,
      timeout,
      signal: limit.signal,
    });
    stepped?.({ open, initialize: performance.now() - begun - open, readyAt: Date.now() });
    const { found, framing } = transport;
    const learned = { ...(found && { transport: found }), ...(framing && { framing }) };
    return { peer, transport, handshake: { ...hello, ...learned, conversation: randomUUID() } };
  } catch (error) {
    const described = describe(spec, { transport, noise, limit, echoes: echo.isSeen() }, error);
    throw redactor.error((settings.offline ? explainOffline(spec, described) : described) as Error);
  } finally {
    limit.end();
  }
}

function authorizationOf(name: string, launch: Launch, authorize?: Authorize): Authorization {
  if (!('url' in launch)) return staticAuthorization({}, name);
  const { headers } = launch;
  return authorize === undefined ? staticAuthorization(headers, name) : authorize({ name, ...launch });
}

/**
 * Returns the era to try first when none is cached. An unknown `server/discover` is harmless over HTTP, but may crash a
 * process.
 */
function usualEra({ type }: ServerSpec): Handshake['era'] {
  return type === 'http' || type === 'auto' ? 'modern' : 'legacy';
}

/** Matches the message with which framing rejects a line that is not JSON. */
const NOT_JSON = /^not JSON: (.+)$/s;

interface ConnectFailure {
  transport: Transport;
  /** The first line on stdout that is not JSON, in quotes. */
  noise: string | undefined;
  limit: Pick<StartLimit, 'isOver' | 'fetching'>;
  /** True if the program has sent "initialize" back. */
  echoes: boolean;
}

/** Answers "initialize", which no server sends: the program returns its input. Other requests go to the handlers. */
function detectEcho({ request }: PeerHandlers): { request: NonNullable<PeerHandlers['request']>; isSeen(): boolean } {
  let isSeen = false;
  return {
    isSeen: () => isSeen,
    async request(asked, incoming) {
      isSeen ||= asked.method === 'initialize';
      if (request === undefined || asked.method === 'initialize')
        throw new RpcError(METHOD_NOT_FOUND, `method not found: ${asked.method}`);
      return request(asked, incoming);
    },
  };
}

function describe(spec: ServerSpec, { transport, noise, limit, echoes }: ConnectFailure, error: unknown): unknown {
  if (echoes)
    return new McpxError('unreachable', `server "${spec.name}" sends its input back, so it is not an MCP server`, {
      hint: `check "command" of server "${spec.name}": it has to speak MCP on its stdout`,
      cause: error,
      fault: 'not-mcp',
    });
  if (error instanceof RpcError) {
    const message = `server "${spec.name}" refused "initialize": ${error.message}`;
    return new McpxError('protocol', message, { cause: error, fault: 'handshake' });
  }
  if (!(error instanceof McpxError) || (error.code !== 'timeout' && !limit.isOver)) return error;
  const said = quote(transport.stderr?.() ?? []);
  const late =
    limit.fetching === undefined
      ? `server "${spec.name}" did not start within ${spec.startupTimeout} ms`
      : `server "${spec.name}" did not start: ${limit.fetching} did not finish its download within ${FETCH_LIMIT / 60_000} minutes`;
  if (noise !== undefined && spec.type === 'stdio') {
    return new McpxError('unreachable', `${late}: it wrote ${noise}, which is not MCP${said}`, {
      hint: `check "command" of server "${spec.name}": it has to speak MCP on its stdout; if it does, raise "startupTimeout"`,
      cause: error,
      fault: 'not-mcp',
    });
  }
  const launcher = launcherOf(spec);
  const raise = `raise "startupTimeout" of server "${spec.name}" in the config`;
  const hint =
    launcher === undefined ? raise : `run its command once in a terminal, so that ${launcher} has it, or ${raise}`;
  return new McpxError('unreachable', `${late}${said}`, { hint, cause: error, fault: 'slow' });
}
