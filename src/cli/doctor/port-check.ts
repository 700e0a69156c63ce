/** Checks the port of the gateway: free, used by mcpx, or taken by another program. */
import { createServer } from 'node:net';
import type { Config } from '../../config/config.ts';
import { isRecord } from '../../config/json-data.ts';
import { readSource } from '../../config/jsonc-file.ts';
import { codeOf } from '../../files.ts';
import { urlOf } from '../../listen/http/guard.ts';
import type { Flags } from '../command.ts';
import { type Examined, type Finding, ownCommand } from './finding.ts';

/** Milliseconds that a program on the port may take to answer. */
const PATIENCE = 2000;
/** Number of ports after the configured one that are tried. */
const NEAR = 50;

export async function checkPort(config: Config, flags: Flags): Promise<Examined> {
  const { host, port } = config.settings.http;
  const address = urlOf(host, port).replace(/^https?:\/\//, '');
  if (port === 0) return { facts: ['the gateway uses any free port'], findings: [] };
  const problem = await tryPort(host, port);
  if (problem === undefined) return { facts: [`${address} is free for the gateway`], findings: [] };
  if (problem !== 'EADDRINUSE') return { facts: [], findings: [cannotListen({ config, address, problem }, flags)] };
  const answer = await whoAnswers(urlOf(host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port));
  if (answer === 'mcpx') return { facts: [`a gateway of mcpx runs at ${address}`], findings: [] };
  const free = await nextFree(host, port);
  return {
    facts: [],
    findings: [
      {
        area: 'ports',
        code: 'port-taken',
        level: levelOf(config),
        message: `another program uses ${address}, the address of the gateway`,
        reason: `${answer}; mcpx serve --http cannot start there`,
        command: ownCommand(flags, 'config', 'set', 'http.port', String(free)),
      },
    ],
  };
}

function cannotListen(
  { config, address, problem }: { config: Config; address: string; problem: string },
  flags: Flags,
): Finding {
  return {
    area: 'ports',
    code: 'address-unusable',
    level: levelOf(config),
    message: `the gateway cannot listen on ${address}`,
    reason: `the system refuses it (${problem}): ${problem === 'EACCES' ? 'ports below 1024 need rights' : 'this machine has no such address'}`,
    command:
      problem === 'EACCES'
        ? ownCommand(flags, 'config', 'set', 'http.port', '3095')
        : ownCommand(flags, 'config', 'set', 'http.host', '127.0.0.1'),
  };
}

/** The gateway matters to a user who configured it; others may use stdio alone. */
function levelOf({ files }: Config): Finding['level'] {
  const isSet = files.some((file) => {
    const { value } = readSource(file);
    return isRecord(value) && ('http' in value || 'server' in value);
  });
  return isSet ? 'error' : 'warning';
}

/** Returns the code of the error with which listening fails; undefined if it works. */
function tryPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error) ?? 'unknown'));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

async function nextFree(host: string, port: number): Promise<number> {
  for (let next = port + 1; next <= Math.min(65_535, port + NEAR); next++)
    if ((await tryPort(host, next)) === undefined) return next;
  return 0;
}

/** Returns `mcpx`, or a sentence about the program on the port. */
async function whoAnswers(url: string): Promise<string> {
  try {
    const health = await get(`${url}/healthz`);
    // A gateway with tokens tells its name to nobody without one.
    if (health.text === '{"status":"ok"}' && /^(?:200|401)$/.test(String((await get(`${url}/api/status`)).status)))
      return 'mcpx';
    const name = health.headers.get('server');
    return `it answers HTTP ${health.status}${name === null ? '' : ` as "${name.slice(0, 60)}"`}`;
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    return isLate ? 'it does not answer' : 'it does not speak HTTP';
  }
}

async function get(url: string): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PATIENCE), redirect: 'manual' });
  return { status: response.status, headers: response.headers, text: (await response.text()).slice(0, 1000).trim() };
}
