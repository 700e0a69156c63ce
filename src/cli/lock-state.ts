/** Compares the tools of the servers with the lock file, for `mcpx lock` and `mcpx diff`. */
import type { ServerEntry } from '../catalog/catalog.ts';
import { launchKey } from '../catalog/catalog-store.ts';
import { type Change, createAcceptance, lockedOf } from '../catalog/pins/lock-comparison.ts';
import type { Locked, LockFile, LockState } from '../catalog/pins/lock-file.ts';
import type { Config } from '../config/config.ts';
import { EXIT_CODES, McpxError, messageOf } from '../errors.ts';
import { createLog } from '../observe/log.ts';
import { nearest } from '../render/text.ts';
import type { Invocation } from './command.ts';
import { bindToProcess, longestOf, openApp, openLockFile, readConfig, splitTarget } from './command-app.ts';
import { whileWaiting } from './progress.ts';
import { noteNoServers } from './reachable-servers.ts';
import { status } from './status-lines.ts';

/** The exit code if there are differences, as in diff(1). */
export const EXIT_DIFFERENT = 1;

/** A server that could be listed. */
export interface Compared {
  name: string;
  key: string;
  version: string;
  /** True if none of its tools was locked before. */
  isNew: boolean;
  live: Map<string, Locked>;
  /** The number of tools that clients may use. Tools that the config filters out are locked as well. */
  usable: number;
  changes: Change[];
  /** Differences that are ignored, such as `read: default of "since" (a time)`. */
  ignored: string[];
  /** True if an older mcpx locked some of its tools without all fields. */
  isPartial: boolean;
  /** The fields of those tools that are not locked, such as `read: _meta`. */
  uncovered: string[];
}

export interface Locking {
  servers: Compared[];
  file: LockFile;
  target: { server: string; tool?: string } | undefined;
}

export interface LockCommand {
  /** The server or tool that was named; undefined for all. */
  asked: string | undefined;
  /** If true, an unusable lock file is moved aside; otherwise the command fails. */
  repairs: boolean;
  /** Resolves with the exit code, which is used if every server could be listed. */
  work(locking: Locking): Promise<number>;
}

/** Lists the servers live, ignoring stored catalogs, and compares them with the lock file. */
export async function compareWithLock(invocation: Invocation, { asked, repairs, work }: LockCommand): Promise<number> {
  const config = withoutLock(readConfig(invocation.flags));
  const log = createLog({ ...config.settings.log, level: config.settings.log.level === 'debug' ? 'debug' : 'error' });
  const app = openApp(config, log, { catalogs: 'live', attended: (line) => status.start(line) });
  bindToProcess(app, invocation);
  try {
    const file = openLockFile();
    if (!repairs) stateOf(file);
    const target = asked === undefined ? undefined : splitTarget(asked);
    const catalog = app.catalog();
    const wait = longestOf(
      catalog.servers().map(({ spec }) => spec),
      config.settings.connect,
    );
    await whileWaiting('starting the servers', catalog.settle(wait), invocation.stop);
    const entries = catalog.servers().filter(({ name }) => target === undefined || name === target.server);
    if (target !== undefined && entries.length === 0) throw noServer(target.server, catalog.servers());
    if (entries.length === 0) noteNoServers();
    const failed = entries.filter(({ listing }) => listing.kind !== 'listed');
    for (const entry of failed) status.warn(whyMissing(entry));
    const listed = entries.filter((entry) => !failed.includes(entry));
    if (repairs) await repair(file);
    const state = stateOf(file);
    const usable = new Map(
      app
        .router()
        .servers()
        .map(({ name, tools }) => [name, tools.length]),
    );
    const servers = listed.map((entry) => ({
      ...compare(entry, state, target?.tool),
      usable: usable.get(entry.name) ?? 0,
    }));
    const code = await work({ servers, file, target });
    return failed.length > 0 ? EXIT_CODES.unreachable : code;
  } finally {
    await app.stop();
  }
}

/** Reads the lock file. Throws if it cannot be used. */
function stateOf(file: LockFile): LockState {
  const reading = file.read();
  if (reading.kind === 'broken') throw reading.error;
  return reading.kind === 'missing' ? new Map() : reading.state;
}

async function repair(file: LockFile): Promise<void> {
  const reading = file.read();
  if (reading.kind !== 'broken') return;
  const aside = await file.setAside().catch((cause: unknown) => {
    throw new McpxError('failed', `"${file.path}" cannot be used and could not be renamed: ${messageOf(cause)}`, {
      hint: `remove "${file.path}"`,
      cause,
    });
  });
  if (aside !== undefined)
    status.warn(`${reading.error.message}; it was renamed to "${aside}", and a new lock file is created`);
}

/** Turns off `lock`, because these commands must see the tools that it withholds. */
function withoutLock(config: Config): Config {
  return { ...config, settings: { ...config.settings, lock: 'off' } };
}

function compare(
  { name, spec, handshake, offer }: ServerEntry,
  state: LockState,
  tool: string | undefined,
): Omit<Compared, 'usable'> {
  const key = launchKey(spec);
  const known = state.get(key);
  const live = lockedOf(offer.tools);
  const acceptance = createAcceptance();
  const changes = known === undefined ? [] : acceptance.changes(known, live);
  if (tool !== undefined && !live.has(tool) && !known?.tools.has(tool) && !known?.waiting.has(tool))
    throw new McpxError('not_found', `neither server "${name}" nor the lock file has a tool "${tool}"`, {
      hint: `mcpx tools ${name}`,
    });
  return {
    name,
    key,
    version: String(handshake?.serverInfo.version),
    isNew: known === undefined,
    isPartial: [...(known?.tools.values() ?? [])].some(({ partial }) => partial),
    live,
    changes: tool === undefined ? changes : changes.filter((change) => change.tool === tool),
    ignored: known === undefined ? [] : acceptance.ignored(known, live),
    uncovered: known === undefined ? [] : acceptance.complete({ ...known, tools: new Map(known.tools) }, live),
  };
}

function noServer(name: string, entries: ServerEntry[]): McpxError {
  const names = entries.map((entry) => entry.name);
  const [close] = nearest(name, names);
  const known = names.length === 0 ? 'mcpx config path' : `the servers are: ${names.join(', ')}`;
  const hint = close === undefined ? known : `did you mean "${close}"?`;
  return new McpxError('not_found', `no server is called "${name}"`, { hint });
}

function whyMissing({ name, listing }: ServerEntry): string {
  return listing.kind === 'failed' ? messageOf(listing.error) : `server "${name}" is still starting`;
}
