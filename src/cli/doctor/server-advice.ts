/** Turns the failure of one server into a finding: what kind of failure it is, why, and the command that helps. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ServerSpec } from '../../config/config.ts';
import { resolveLaunch } from '../../config/env.ts';
import { type Environment, lookup } from '../../config/environment.ts';
import { isRecord, sameJson } from '../../config/json-data.ts';
import { positionOf, readSource } from '../../config/jsonc-file.ts';
import { redactSpec } from '../../config/show.ts';
import { type Fault, type McpxError, signInData } from '../../errors.ts';
import { codeOf } from '../../files.ts';
import { proxyFor } from '../../upstream/http/proxy.ts';
import type { Flags } from '../command.ts';
import { formatKey } from '../config-key.ts';
import { valueCommand } from '../server-rows.ts';
import { byHand, connectCommand, helperByHand, seeCommand } from './cause-command.ts';
import { exitAdvice } from './exit-advice.ts';
import { editorCommand, type Finding, ownCommand } from './finding.ts';
import { installCommand } from './install-command.ts';
import { findElsewhere, isBareName } from './program-search.ts';

export interface AdviceContext {
  spec: ServerSpec;
  flags: Flags;
  world: Environment;
  /** The last stderr lines of the process. */
  stderr: readonly string[];
}

export type Advice = Pick<Finding, 'code' | 'reason' | 'command'>;

export function serverFinding(error: McpxError, context: AdviceContext): Finding {
  const [message = ''] = error.message.split(/\n| \(stderr: /);
  const { code, reason, command } = adviceFor(error, context);
  return { area: 'servers', level: 'error', server: context.spec.name, code, message, reason, command };
}

function adviceFor(error: McpxError, context: AdviceContext): Advice {
  const start = spawnAdvice(error, context) ?? configAdvice(error, context) ?? signInAdvice(error, context);
  if (start !== undefined) return start;
  const { fault } = error;
  if (fault !== undefined && NETWORK.has(fault)) return proxyAdvice(context) ?? FAULTS[fault](error, context);
  if (fault !== undefined) return FAULTS[fault](error, context);
  if (error.code === 'timeout') return silent(context);
  const code = error.code === 'protocol' ? 'protocol' : error.code === 'overloaded' ? 'overloaded' : 'failed';
  return { code, reason: error.hint ?? 'the message above is all that is known', command: seeCommand(context) };
}

/** Failures of the network, for which a proxy may be the cause. */
const NETWORK: ReadonlySet<Fault> = new Set(['dns', 'no-listener', 'no-connection']);

/** Returns the command that sets one field of the server's entry. */
export function setField(
  { spec, flags }: Pick<AdviceContext, 'spec' | 'flags'>,
  field: string[],
  value: string,
): string {
  return ownCommand(flags, 'config', 'set', formatKey([...spec.place.path, ...field]), value);
}

function editEntry({ spec, world }: AdviceContext): string {
  const { file, path } = spec.place;
  return editorCommand(file, positionOf(readSource(file), path, 'key').line, world.platform);
}

/** Advice for a process that the system could not start. */
function spawnAdvice({ cause }: McpxError, context: AdviceContext): Advice | undefined {
  const { spec, world } = context;
  const syscall = (cause as NodeJS.ErrnoException | undefined)?.syscall;
  if (spec.type !== 'stdio' || syscall?.startsWith('spawn') !== true) return undefined;
  const { command, cwd } = launchOf(spec, world) ?? spec;
  if (cwd !== undefined && !existsSync(cwd))
    return { code: 'folder-not-found', reason: 'its "cwd" names no folder', command: `mkdir -p '${cwd}'` };
  if (codeOf(cause) === 'EACCES')
    return { code: 'not-executable', reason: 'the file has no right to be executed', command: `chmod +x '${command}'` };
  if (codeOf(cause) !== 'ENOENT')
    return { code: 'not-started', reason: `the system refused it (${codeOf(cause)})`, command: 'ulimit -a' };
  if (isBareName(command, world)) return notFound(command, context);
  return {
    code: 'command-not-found',
    reason: existsSync(command) ? 'its first line names an interpreter that is not installed' : 'there is no such file',
    command: setField(context, ['command'], '<path of the program>'),
  };
}

function notFound(name: string, context: AdviceContext): Advice {
  const elsewhere = findElsewhere(name, context.world);
  if (elsewhere !== undefined) {
    const folder = dirname(elsewhere);
    const reason = `it is in "${folder}", which is not on the PATH of mcpx`;
    return { code: 'command-not-on-path', reason, command: setField(context, ['env', 'PATH'], `${folder}:\${PATH}`) };
  }
  const install = installCommand(name, context.world);
  const reason = install === undefined ? `no folder on PATH has "${name}"` : `"${name}" is not installed`;
  return {
    code: 'command-not-found',
    reason,
    command: install ?? setField(context, ['command'], '<path of the program>'),
  };
}

function launchOf(spec: ServerSpec, world: Environment): { command: string; cwd?: string | undefined } | undefined {
  try {
    const launch = resolveLaunch(spec, { ...world, inheritEnv: 'safe' });
    return launch.type === 'stdio' ? launch : undefined;
  } catch {
    return undefined;
  }
}

function configAdvice(error: McpxError, context: AdviceContext): Advice | undefined {
  if (error.code !== 'config') return undefined;
  const missing = isRecord(error.data) && Array.isArray(error.data.missing) ? error.data.missing.map(String) : [];
  if (missing.length > 0) {
    const reason = 'its entry takes the value from there, so it is not started without';
    return { code: 'variable-missing', reason, command: valueCommand(missing, context.world) };
  }
  if (error.message.endsWith('mcpx is offline'))
    return {
      code: 'offline',
      reason: '"offline" is set',
      command: ownCommand(context.flags, 'config', 'set', 'offline', 'false'),
    };
  return { code: 'config-mistake', reason: error.hint ?? 'its entry cannot be used', command: editEntry(context) };
}

function signInAdvice(error: McpxError, { spec, flags }: AdviceContext): Advice | undefined {
  if (error.code !== 'auth' || error.fault === 'credentials') return undefined;
  const reason = 'it answered 401 and offers a sign-in';
  const isSignIn = signInData(error) !== undefined;
  if (!isSignIn && 'headersHelper' in spec)
    return { code: 'headers-helper', reason: 'its headers come from this program', command: helperByHand(spec) };
  return {
    code: 'needs-sign-in',
    reason: isSignIn ? reason : (error.hint ?? reason),
    command: ownCommand(flags, 'login', spec.name),
  };
}

function proxyAdvice({ spec, world }: AdviceContext): Advice | undefined {
  if (!('url' in spec) || !URL.canParse(spec.url)) return undefined;
  const url = new URL(spec.url);
  const proxy = proxyFor(url, world);
  if (proxy === undefined) return undefined;
  const before = lookup('NO_PROXY', world) ?? lookup('no_proxy', world) ?? '';
  const list = [...before.split(',').filter((entry) => entry !== ''), url.hostname].join(',');
  return {
    code: 'proxy',
    reason: `the environment sends its requests through the proxy ${proxy.protocol}//${proxy.host}, which cannot be reached`,
    command: world.platform === 'win32' ? `set NO_PROXY=${list}` : `export NO_PROXY=${list}`,
  };
}

const FAULTS: Record<Fault, (error: McpxError, context: AdviceContext) => Advice> = {
  exited: (error, context) => exitAdvice(error, context),
  'not-mcp': (_, context) => notMcp(context),
  slow: late,
  handshake: (_, context) => ({
    code: 'protocol',
    reason: 'it speaks JSON-RPC and rejects the first request of MCP; a newer version of it may not',
    command: seeCommand(context),
  }),
  certificate: ({ cause }) => ({
    code: 'tls',
    reason: certificateReason(codeOf(cause) ?? ''),
    command: "export NODE_EXTRA_CA_CERTS='<file with the certificate of its authority>'",
  }),
  tls: ({ cause }, context) => ({
    code: 'tls',
    reason: `the TLS handshake failed (${codeOf(cause)}); the server may speak plain HTTP`,
    command: setField(context, ['url'], plainAddress(context.spec)),
  }),
  dns: (_, context) => ({
    code: 'dns',
    reason: `no name server knows the host "${hostOf(context.spec)}", or this machine has no network`,
    command: setField(context, ['url'], '<address>'),
  }),
  'no-listener': (_, context) => ({
    code: 'refused',
    reason: `nothing listens at ${hostOf(context.spec)}: the server does not run, or has another address`,
    command: setField(context, ['url'], '<address>'),
  }),
  'no-connection': ({ cause }, context) => ({
    code: 'unreachable',
    reason: `the network does not reach ${hostOf(context.spec)} (${codeOf(cause) ?? 'no answer'})`,
    command: 'url' in context.spec ? connectCommand(context.spec) : seeCommand(context),
  }),
  'no-endpoint': (_, context) => ({
    code: 'no-endpoint',
    reason: 'this path is no MCP endpoint; the path often is /mcp',
    command: 'url' in context.spec ? setField(context, ['url'], endpointOf(context.spec.url)) : seeCommand(context),
  }),
  status: (_, context) => ({
    code: 'http-status',
    reason: 'the server, or a gateway before it, has a problem',
    command: seeCommand(context),
  }),
  credentials: (_, context) => credentials(context),
};

function late(_error: McpxError, context: AdviceContext): Advice {
  const { spec, stderr } = context;
  const ms = spec.startupTimeout;
  if (spec.type === 'stdio' && stderr.length === 0)
    return {
      code: 'silent',
      reason: `it runs, and in ${ms} ms it neither answered nor wrote anything; run it by hand: if it ends or asks something, that is the cause; if it only needs longer to start, raise "startupTimeout"`,
      command: byHand(context),
    };
  const next = Math.max(60, Math.ceil((2 * ms) / 1000));
  const reason = `it runs and has not answered after ${ms} ms; a first start that loads or builds something takes longer`;
  return { code: 'needs-more-time', reason, command: setField(context, ['startupTimeout'], `${next}s`) };
}

function silent(context: AdviceContext): Advice {
  const reason = 'it is connected and does not answer a list request';
  return {
    code: 'needs-more-time',
    reason,
    command: setField(context, ['timeout'], `${Math.ceil((2 * context.spec.timeout) / 1000)}s`),
  };
}

/** Runners of package scripts, which print a banner on stdout unless they are told not to. */
const SCRIPT_RUNNERS = /^(?:npm|pnpm|yarn)$/;

/** Returns the command that takes the banner out of stdout, if a runner of package scripts starts the server. */
export function silentCommand(context: AdviceContext): string | undefined {
  const { spec } = context;
  if (spec.type !== 'stdio' || !SCRIPT_RUNNERS.test(spec.command)) return undefined;
  if (spec.args.includes('--silent') || !hasNoSecret(spec)) return undefined;
  return setField(context, ['args'], JSON.stringify(['--silent', ...spec.args]));
}

function notMcp(context: AdviceContext): Advice {
  const silent = silentCommand(context);
  const only = 'stdout of an MCP server has only JSON-RPC';
  if (silent !== undefined)
    return { code: 'noisy-stdout', reason: `${only}; a runner of scripts prints a banner there`, command: silent };
  return {
    code: 'noisy-stdout',
    reason: `${only}: this is another program, or it needs an argument to speak MCP`,
    command: editEntry(context),
  };
}

function credentials(context: AdviceContext): Advice {
  const { spec, world } = context;
  const written = 'headers' in spec ? Object.values(spec.headers).join(' ') : '';
  const variables = [...written.matchAll(/\$\{(?:env:)?([A-Z_][A-Z0-9_]*)\}/gi)].map(([, name = '']) => name);
  const reason = 'it refused the credentials in "headers": they are wrong, expired, or without the needed rights';
  return {
    code: 'credentials-refused',
    reason,
    command:
      variables.length > 0
        ? valueCommand(variables, world)
        : setField(context, ['headers', 'Authorization'], 'Bearer ${TOKEN}'),
  };
}

function certificateReason(code: string): string {
  if (code === 'CERT_HAS_EXPIRED') return 'its certificate has expired, or the clock of this machine is wrong';
  if (code === 'DEPTH_ZERO_SELF_SIGNED_CERT') return 'it signed its certificate itself, so no authority vouches for it';
  if (code === 'SELF_SIGNED_CERT_IN_CHAIN')
    return 'an authority that this machine does not know signed it, such as a company proxy that reads TLS';
  return `no known authority vouches for it (${code})`;
}

function hostOf(spec: ServerSpec): string {
  return 'url' in spec && URL.canParse(spec.url) ? new URL(spec.url).host : spec.name;
}

/** Returns the URL with http; a URL with a secret is not repeated. */
function plainAddress(spec: ServerSpec): string {
  if (!('url' in spec) || !hasNoSecret(spec)) return '<address>';
  return spec.url.replace(/^https:/, 'http:');
}

/** True if nothing of the entry is masked when it is shown. */
export function hasNoSecret(spec: ServerSpec): boolean {
  return sameJson(redactSpec(spec), spec);
}

function endpointOf(address: string): string {
  if (!URL.canParse(address)) return '<address>';
  const url = new URL(address);
  return url.pathname.endsWith('/mcp') ? '<address>' : `${url.origin}/mcp`;
}
