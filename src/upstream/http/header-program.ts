/** Gets the headers of a server from a program of the user, such as a keychain or a vault: `headersHelper` in the config. */
import { type ExecFileException, execFile } from 'node:child_process';
import type { OutgoingHttpHeaders } from 'node:http';
import { secretParts } from '../../config/sensitive.ts';
import { McpxError } from '../../errors.ts';
import { isRecord } from '../../wire/message.ts';
import {
  type Authorization,
  authStatusText,
  type HeaderProgram,
  type ServerAccess,
  staticAuthorization,
} from './authorization.ts';

export type HelpedServer = ServerAccess & { helper: HeaderProgram };

/** Milliseconds that the program has, and bytes that it may print. */
const TIMEOUT = 30_000;
const MAX_BYTES = 64 * 1024;

/** The headers that a program printed; all connections to a server share them. */
interface Printed {
  headers?: Record<string, string> | undefined;
  until: number;
  running?: Promise<Record<string, string>> | undefined;
}

/** Creates the authorizations of all servers with such a program. */
export function createHeaderPrograms(): (server: HelpedServer) => Authorization {
  const printed = new Map<string, Printed>();
  return (server) => {
    const { name, url, helper } = server;
    const key = JSON.stringify([name, url, helper.command, helper.args]);
    const cache = printed.get(key) ?? { until: 0 };
    printed.set(key, cache);
    return helperAuthorization(server, cache);
  };
}

function helperAuthorization({ name, headers: configured, helper }: HelpedServer, cache: Printed): Authorization {
  const fixed = staticAuthorization(configured, name).headers() as OutgoingHttpHeaders;
  let failure: McpxError | undefined;

  const fetchHeaders = (): Promise<Record<string, string>> => {
    cache.running ??= run(name, helper)
      .then((headers) => {
        cache.headers = headers;
        cache.until = performance.now() + helper.keep;
        return headers;
      })
      .finally(() => {
        cache.running = undefined;
      });
    return cache.running;
  };

  return {
    headers() {
      const { headers, until } = cache;
      if (headers !== undefined && performance.now() < until) return { ...fixed, ...headers };
      return fetchHeaders().then((fresh) => ({ ...fixed, ...fresh }));
    },
    async refused({ sent }) {
      failure = undefined;
      const isSent = (headers: Record<string, string> | undefined) =>
        Object.entries(headers ?? {}).every(([key, value]) => sent[key] === value);
      if (!isSent(cache.headers)) return true;
      try {
        return !isSent(await fetchHeaders());
      } catch (error) {
        failure = error as McpxError;
        return false;
      }
    },
    error(status) {
      if (failure !== undefined) return failure;
      const message = `server "${name}" does not accept the headers of its headersHelper (${authStatusText(status)})`;
      return new McpxError('auth', message, { hint: runIt(helper) });
    },
    secrets: () => Object.entries(cache.headers ?? {}).flatMap(([header, value]) => secretParts(header, value)),
  };
}

/** Runs the program without a shell. No error quotes what it printed. */
function run(name: string, helper: HeaderProgram): Promise<Record<string, string>> {
  const { command, args, env } = helper;
  const limits = { timeout: TIMEOUT, maxBuffer: MAX_BYTES, killSignal: 'SIGKILL', windowsHide: true } as const;
  const wrong = (what: string) =>
    new McpxError('auth', `the headersHelper of server "${name}" ${what}`, { hint: runIt(helper) });
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { ...limits, env }, (error, stdout) => {
      if (error !== null) return reject(wrong(reasonOf(error)));
      const headers = readHeaders(stdout);
      if (headers === undefined) reject(wrong('did not print a JSON object of HTTP headers'));
      else resolve(headers);
    });
    // A program that reads its input would wait for ever, and one that does not may close it first.
    child.stdin?.on('error', () => undefined).end();
  });
}

function reasonOf({ code: cause, killed, signal }: ExecFileException): string {
  if (cause === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `printed over ${MAX_BYTES / 1024} KiB`;
  if (typeof cause === 'string') return `cannot be started (${cause})`;
  if (killed === true) return `did not end within ${TIMEOUT / 1000} s`;
  return typeof cause === 'number' ? `ended with exit code ${cause}` : `was ended by ${String(signal)}`;
}

/** Returns the headers with lower-case names; undefined if the text is anything else. */
function readHeaders(text: string): Record<string, string> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value);
  const isValid = entries.every(
    ([key, one]) =>
      /^[\w!#$%&'*+.^`|~-]+$/.test(key) && typeof one === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(one),
  );
  return isValid ? Object.fromEntries(entries.map(([key, one]) => [key.toLowerCase(), String(one)])) : undefined;
}

function runIt({ command }: HeaderProgram): string {
  return `run "${command}" in a terminal with the arguments of "headersHelper": it has to print such as {"Authorization": "Bearer …"}`;
}
