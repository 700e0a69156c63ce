/** One conversation with an upstream, from launch to the end of the handshake. */
import type { ServerSpec, Settings } from '../config/config.ts';
import { resolveLaunch } from '../config/env.ts';
import { McpxError, RpcError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { createPeer, type Peer, type PeerHandlers } from '../wire/peer.ts';
import type { Hello } from './connection.ts';
import { handshake, type Introduction, type Remembered } from './era.ts';
import { quote } from './failure.ts';
import { FETCH_LIMIT, launcherOf } from './launcher.ts';
import { createEraChannel } from './modern.ts';
import { openTransport } from './open.ts';
import { createRedactor } from './secrets.ts';
import { limitStart, type StartLimit } from './start-limit.ts';
import type { Transport } from './transport.ts';

export interface Link {
  peer: Peer;
  transport: Transport;
  hello: Hello;
}

export interface LinkOptions {
  spec: ServerSpec;
  settings: Pick<Settings, 'connect' | 'limits'> & Partial<Pick<Settings, 'offline'>>;
  log: Log;
  /** Who we say we are (default: mcpx itself, without any capability). */
  introduction?: Introduction | undefined;
  /** What the upstream said the last time: its era, and what a URL without a type turned out to be, are tried first. */
  recall?: ((spec: ServerSpec) => Remembered | undefined) | undefined;
  /** What `${workspaceFolder}` means (default: the working directory). */
  workspaceFolder?: string | undefined;
  /** Told of every line that the process writes to stderr. */
  stderr?: ((line: string) => void) | undefined;
  /** Told of a slow start, in place of the log. */
  attended?: ((line: string) => void) | undefined;
  /** Aborted when the upstream is no longer wanted. */
  signal: AbortSignal;
  /** Told of the transport as soon as there is one: from then on it must be stopped, whatever becomes of the handshake. */
  opened(transport: Transport): void;
  /** Told which launcher downloads the server, and when that is over. */
  fetching?: ((launcher: string | undefined) => void) | undefined;
  handlers: PeerHandlers;
}

/** Requests of one upstream that may be under way at once: a connection may serve many clients, each of whom is asked something. */
const MAX_INCOMING = 256;

export async function openLink(options: LinkOptions): Promise<Link> {
  const { spec, settings, log, signal, opened, handlers, workspaceFolder, stderr } = options;
  const { secrets, ...launch } = resolveLaunch(spec, {
    inheritEnv: settings.connect.inheritEnv,
    ...(workspaceFolder !== undefined && { workspaceFolder }),
  });
  if (settings.offline && 'url' in launch) stayHome(spec, launch.url);
  const redactor = createRedactor(secrets);
  const { messageBytes: maxBytes } = settings.limits;
  const remembered = options.recall?.(spec);
  const transport = await openTransport(launch, {
    name: spec.name,
    maxBytes,
    log,
    redactor,
    remembered: remembered?.transport,
    framing: remembered && (remembered.framing ?? 'newline'),
    ...(stderr && { stderr }),
  }).catch((error) => {
    throw redactor.error(error);
  });
  opened(transport);
  const subject = `server "${spec.name}"`;
  const channel = createEraChannel(transport);
  let noise: string | undefined;
  const invalid = (reason: string) => {
    const safe = redactor.text(reason);
    noise ??= NOT_JSON.exec(safe)?.[1];
    handlers.invalid?.(safe);
  };
  const peer = createPeer(channel, {
    ...handlers,
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
    const { found, framing } = transport;
    const learned = { ...(found && { transport: found }), ...(framing && { framing }) };
    return { peer, transport, hello: { ...hello, ...learned } };
  } catch (error) {
    throw redactor.error(describe(spec, { transport, noise, limit }, error) as Error);
  } finally {
    limit.end();
  }
}

/** What is on this machine may be contacted all the same. */
function stayHome({ name }: ServerSpec, url: string): void {
  const { hostname } = new URL(url);
  if (/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)) return;
  throw new McpxError('config', `server "${name}" is not contacted: mcpx is offline`, {
    hint: 'set "offline": false in the config, or unset MCPX_OFFLINE',
  });
}

/** Where nothing is remembered: a probe that an old server does not know is harmless over HTTP, and may end a process. */
function usualEra({ type }: ServerSpec): Hello['era'] {
  return type === 'http' || type === 'auto' ? 'modern' : 'legacy';
}

/** What framing says of a line that a program printed. */
const NOT_JSON = /^not JSON: (.+)$/s;

interface Heard {
  transport: Transport;
  /** The first line on stdout that was no JSON, in quotes. */
  noise: string | undefined;
  limit: Pick<StartLimit, 'isOver' | 'fetching'>;
}

function describe(spec: ServerSpec, { transport, noise, limit }: Heard, error: unknown): unknown {
  if (error instanceof RpcError) {
    return new McpxError('protocol', `server "${spec.name}" refused "initialize": ${error.message}`, { cause: error });
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
    });
  }
  const launcher = launcherOf(spec);
  const raise = `raise "startupTimeout" of server "${spec.name}" in the config`;
  const hint =
    launcher === undefined ? raise : `run its command once in a terminal, so that ${launcher} has it, or ${raise}`;
  return new McpxError('unreachable', `${late}${said}`, { hint, cause: error });
}
