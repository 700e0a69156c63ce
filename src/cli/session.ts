/** What commands share: loading the config, and an App that lives as long as the command. */
import { accessSync, constants } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type App, createApp } from '../app/app.ts';
import { createLockFile, type LockFile } from '../catalog/lock-file.ts';
import { createCatalogStore } from '../catalog/store.ts';
import { type Config, profileWord, type ServerSpec, type Settings, unchosenProfile } from '../config/config.ts';
import { warningText } from '../config/findings.ts';
import { demoConfig, loadConfig } from '../config/load.ts';
import type { Overrides } from '../config/overrides.ts';
import { homeFolder, sessionsFolder } from '../config/store.ts';
import { worldOf } from '../config/world.ts';
import { messageOf } from '../errors.ts';
import { codeOf, ensureFolder, removeAbandonedTemps } from '../files.ts';
import { createLedger } from '../observe/ledger.ts';
import { createLog, type Log } from '../observe/log.ts';
import { createUsage } from '../observe/usage.ts';
import { longestStart } from '../upstream/launcher.ts';
import { LISTING_TURN } from '../upstream/listing-places.ts';
import { createChildRecords } from '../upstream/owners.ts';
import { createStderrFiles } from '../upstream/stderr-file.ts';
import { STOP_FAST } from '../upstream/transport.ts';
import type { Flags, Invocation } from './command.ts';
import { writeStderrAsJson } from './json-stderr.ts';
import { note, paint } from './output.ts';
import { selfCommand } from './self.ts';

export interface ReadOptions {
  /** Writes a first config where there is none. */
  bootstrap?: boolean;
  /** Named beside `--config`. */
  file?: string | undefined;
  host?: string | undefined;
  port?: string | undefined;
  /** What files would hold, for a look before they are written. */
  texts?: ReadonlyMap<string, string> | undefined;
  /** Warnings were told before. */
  quiet?: boolean;
  /** Whether this process will listen on HTTP. */
  http?: boolean;
  /** Whether stderr is a log, in the format of the config, and not for a person in a shell. */
  logs?: boolean;
}

/** The config that the options name; warnings go to stderr. */
export function readConfig(
  flags: Flags,
  { bootstrap = false, quiet = false, logs = false, file, host, port, http = false, texts }: ReadOptions = {},
): Config {
  const overrides: Overrides = {
    profile: flags.value('profile'),
    front: flags.value('front'),
    logLevel: flags.value('log-level'),
    watch: flags.has('watch') || undefined,
    host,
    port,
  };
  if (flags.has('demo')) return demoConfig({ overrides });
  const files = [...(file === undefined ? [] : [file]), ...flags.values('config')];
  const { command, args } = selfCommand();
  const self = { execPath: command, http, ...(args[0] !== undefined && { script: args[0] }) };
  const { config, created } = loadConfig({
    files,
    overrides,
    strict: flags.has('strict'),
    bootstrap,
    self,
    ...(texts && { texts }),
  });
  if (logs && config.settings.log.format === 'json') writeStderrAsJson();
  if (created !== undefined) note(`mcpx: wrote a first config to ${created}`);
  if (!quiet) for (const warning of config.warnings) note(`${paint('yellow', 'warning:')} ${warningText(warning)}`);
  return config;
}

/** Whether an answer may come from the disk, or must be what the servers say now. */
type Catalogs = 'stored' | 'live';

/** Where what was saved is added up over runs. */
export function ledgerFile(): string {
  return join(homeFolder(worldOf()), 'stats.json');
}

interface OpenOptions {
  catalogs?: Catalogs;
  /** Where what this run saves is added to what others saved. */
  counts?: string;
  /** Whether a person waits: slow starts are told, and calls wait for a download as long as it takes. */
  attended?: boolean;
  /** Whether sessions have to survive a restart. */
  resumable?: boolean;
}

/** The App of a config, with its catalogs on disk; the demo leaves nothing behind. */
export function openApp(
  config: Config,
  log: Log,
  { catalogs = 'stored', counts, attended = false, resumable = false }: OpenOptions = {},
): App {
  const told = attended ? { attended: (line: string) => note(paint('dim', line)) } : {};
  if (config.files.length === 0) return createApp(config, { log });
  const home = homeFolder(worldOf());
  const stored = createCatalogStore({ folder: join(home, 'cache'), log });
  const store = catalogs === 'stored' ? stored : { ...stored, read: () => undefined };
  const problem = unwritable(home);
  if (problem !== undefined) {
    log.warn(problem);
    const readOnly = { ...store, write: () => undefined };
    return createApp(config, { log, store: readOnly, lockFile: openLockFile(), problems: [problem], ...told });
  }
  removeLeftovers(home, config.files);
  const children = createChildRecords({ folder: join(home, 'run'), log });
  void children.reap();
  const stderr = createStderrFiles({ folder: join(home, 'logs'), log });
  const ledger = counts !== undefined && config.settings.stats ? createLedger({ file: counts, log }) : createLedger();
  const usage = createUsage({ file: join(home, 'usage.json'), log });
  const resultFolder = join(home, 'results');
  const shownFolder = resumable ? join(sessionsFolder(worldOf()), 'shown') : undefined;
  const kept = { children, stderr, ledger, usage, resultFolder, shownFolder };
  return createApp(config, { log, store, lockFile: openLockFile(), ...kept, ...told });
}

/** Everything that is kept is in one folder: where that cannot be written, one sentence says what does not work. */
function unwritable(home: string): string | undefined {
  try {
    ensureFolder(home);
    accessSync(home, constants.W_OK);
    return undefined;
  } catch (error) {
    const lost = [
      'what servers offer is not stored and has to be listed at every start',
      'what they write to stderr and what was saved is not kept',
      'processes that a killed mcpx leaves behind are not ended by the next one',
    ];
    return `the folder "${home}" cannot be written (${codeOf(error) ?? messageOf(error)}): ${lost.join('; ')}. Set MCPX_HOME to a folder that can`;
  }
}

/** Temporary files of processes that were killed while they wrote. */
function removeLeftovers(home: string, configs: readonly string[]): void {
  for (const folder of [home, join(home, 'cache')]) removeAbandonedTemps(folder);
  for (const file of configs) {
    for (const name of [basename(file), `${basename(file)}.bak`, `${basename(file)}.lock`])
      removeAbandonedTemps(dirname(file), name);
  }
}

/** Accepted definitions of tools. */
export function openLockFile(): LockFile {
  return createLockFile({ path: join(homeFolder(worldOf()), 'lock.json') });
}

/** Ties the end of an App to the end of the process, when that cannot wait for a stop of its own accord. */
export function bindToProcess(app: App, { atExit, hurry }: Pick<Invocation, 'atExit' | 'hurry'>): void {
  atExit(() => app.killNow());
  hurry?.addEventListener('abort', () => void app.stop(STOP_FAST), { once: true });
}

/** Says which of several profiles is used where nobody chose one. */
export function noteUnchosen(config: Config): void {
  const chosen = unchosenProfile(config);
  if (chosen === undefined) return;
  const word = profileWord(config);
  const names = config.profiles.flatMap(({ name, enabled }) => (enabled ? [`"${name}"`] : []));
  note(
    `mcpx: no ${word} is called "default": "${chosen}" is used where none is named, the first of ${names.join(', ')}; --profile or MCPX_PROFILE chooses another`,
  );
}

/** For reading commands: an App that is stopped afterwards. Upstream trouble is told by the command, so the log holds back. */
export function withApp<T>(
  invocation: Invocation,
  work: (app: App, config: Config) => Promise<T>,
  catalogs: Catalogs = 'stored',
): Promise<T> {
  return withAppOf(readConfig(invocation.flags), invocation, work, catalogs);
}

/** The same for a config that was read before. */
export async function withAppOf<T>(
  config: Config,
  invocation: Invocation,
  work: (app: App, config: Config) => Promise<T>,
  catalogs: Catalogs,
): Promise<T> {
  noteUnchosen(config);
  const { log } = config.settings;
  const app = openApp(config, createLog({ ...log, level: log.level === 'debug' ? 'debug' : 'error' }), {
    catalogs,
    attended: true,
  });
  bindToProcess(app, invocation);
  try {
    return await work(app, config);
  } finally {
    await app.stop();
  }
}

/** ms within which all of these servers have started or have failed to, where so many start at a time. */
export function longestOf(servers: ServerSpec[], { concurrency }: Pick<Settings['connect'], 'concurrency'>): number {
  const waits = Math.floor(Math.max(0, servers.length - 1) / concurrency);
  return Math.max(0, ...servers.map(longestStart)) + waits * LISTING_TURN;
}

/** The options that chose the servers, as typed, for a command in a hint. */
export function sourceFlags(flags: Flags): string {
  const named = ['config', 'profile'].flatMap((name) => flags.values(name).map((value) => `--${name} ${value} `));
  return [...(flags.has('demo') ? ['--demo '] : []), ...named].join('');
}

/** `server.tool` at the first dot; server names have none. */
export function splitTarget(target: string): { server: string; tool?: string } {
  const dot = target.indexOf('.');
  return dot < 0 ? { server: target } : { server: target.slice(0, dot), tool: target.slice(dot + 1) };
}
