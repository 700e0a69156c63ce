/** The small world of the upstream tests: specs of fixture servers, and what has to be put away after each test. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, vi } from 'vitest';
import { DEFAULTS, type RemoteServer, SERVER_DEFAULTS, type StdioServer } from '../../src/config/config.ts';
import type { Log } from '../../src/observe/log.ts';
import { createConnection } from '../../src/upstream/connection.ts';
import type { Connection } from '../../src/upstream/connection-interface.ts';
import type { ConnectionOptions } from '../../src/upstream/connection-options.ts';
import { stopClock as stop } from '../setup/clock.ts';

export { until } from '../setup/until.ts';

export const SETTINGS = DEFAULTS;

const base = {
  disabled: false,
  ...SERVER_DEFAULTS,
  tools: {},
  resources: {},
  prompts: {},
  place: { file: '/config.json', path: [] },
};

/** A file in tests/fixtures/servers. */
export function fixture(file: string): string {
  return fileURLToPath(new URL(`../fixtures/servers/${file}`, import.meta.url));
}

export function stdioSpec(command: string, args: string[], more: Partial<StdioServer> = {}): StdioServer {
  const own = { name: 'x', type: 'stdio' as const, command, args, env: {}, envFile: [], framing: 'newline' as const };
  return { ...base, ...own, ...more };
}

/** The fixture server with these flags. */
export function serverSpec(flags: string[] = [], more: Partial<StdioServer> = {}): StdioServer {
  return stdioSpec(process.execPath, [fixture('stdio.mjs'), ...flags], more);
}

export function httpSpec(url: string, more: Partial<RemoteServer> = {}): RemoteServer {
  return { ...base, name: 'x', type: 'http', url, headers: {}, ...more };
}

const cleanups: (() => unknown)[] = [];

/** Runs after the test, last first, whatever became of it. */
export function cleanup(run: () => unknown): void {
  cleanups.push(run);
}

afterEach(async () => {
  for (const run of cleanups.splice(0).reverse()) await run();
});

/** Stops timers and clocks until the test advances them (`vi.advanceTimersByTimeAsync`); they run again after the test, before its connections are closed. */
export function stopClock(): void {
  stop();
  cleanup(() => vi.useRealTimers());
}

export function connection(spec: ConnectionOptions['spec'], more: Partial<ConnectionOptions> = {}): Connection {
  const created = createConnection({ spec, settings: SETTINGS, log: recorder().log, ...more });
  cleanup(() => created.close({ eof: 0, term: 0 }));
  return created;
}

/** A log that can be read. */
export function recorder(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const add = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  return { lines, log: { error: add('error'), warn: add('warn'), info: add('info'), debug: add('debug') } };
}

/** Calls a tool of the fixture server; the text of its answer, parsed where it is JSON. */
export async function call(
  on: Pick<Connection, 'request'>,
  name: string,
  args: object = {},
  options = {},
): Promise<unknown> {
  const result = (await on.request('tools/call', { name, arguments: args }, options)) as {
    content: { text: string }[];
  };
  const text = result.content[0]?.text ?? '';
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns true if a process exists and is not a zombie. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch (error) {
    // Without /proc, the signal alone has to do.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' && process.platform !== 'linux';
  }
}

/** The processes of a group that have not ended; on Linux only, elsewhere none are found. */
export function runningInGroup(group: number): number[] {
  if (process.platform !== 'linux') return [];
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  return pids.map(Number).filter((pid) => groupOf(pid) === group && isRunning(pid));
}

function groupOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
  } catch {
    return undefined;
  }
}
