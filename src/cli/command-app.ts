/** Shared by all commands: loads the config, and runs an App for the duration of the command. */

import { accessSync, constants } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type App, createApp } from '../app/app.ts';
import { configOptions } from '../app/config-options.ts';
import { createCatalogStore, readOnly, writeOnly } from '../catalog/catalog-store.ts';
import { createFailureStore } from '../catalog/failure-store.ts';
import { createLockFile, type LockFile } from '../catalog/pins/lock-file.ts';
import { type Config, profileWord, type ServerSpec, type Settings, unchosenProfile } from '../config/config.ts';
import { warningText } from '../config/diagnostics.ts';
import { environmentOf, lookup } from '../config/environment.ts';
import { demoConfig, type Loaded, type LoadOptions, loadConfig } from '../config/load.ts';
import { asksForJson } from '../config/log-format.ts';
import type { Overrides } from '../config/overrides.ts';
import { homeFolder, sessionsFolder, tokensFile } from '../config/paths.ts';
import { messageOf } from '../errors.ts';
import { codeOf, ensureFolder, removeAbandonedTemps } from '../files.ts';
import { createLog, type Log } from '../observe/log.ts';
import { createLedger } from '../observe/savings-totals.ts';
import { createUsage } from '../observe/usage.ts';
import { MAX_LISTING_TIME } from '../upstream/lifecycle/listing-limit.ts';
import { createOAuth } from '../upstream/oauth/oauth.ts';
import { longestStart } from '../upstream/process/launcher.ts';
import { createChildRecords } from '../upstream/process/orphans.ts';
import { createStderrFiles } from '../upstream/process/stderr-file.ts';
import { STOP_FAST } from '../upstream/transports/transport.ts';
import type { Flags, Invocation } from './command.ts';
import { writeStderrAsJson } from './json-stderr.ts';
import { note, warn } from './output.ts';
import { selfCommand } from './own-command.ts';

export interface ReadOptions {
  /** If true, a default config is written if there is none. */
  bootstrap?: boolean;
  /** A config file that was named without `--config`. */
  file?: string | undefined;
  host?: string | undefined;
  port?: string | undefined;
  /** Texts to use instead of the contents of files, to validate an edit before it is written. */
  texts?: ReadonlyMap<string, string> | undefined;
  /** If true, warnings are not printed again. */
  quiet?: boolean;
  /** True if this process will listen on HTTP. */
  http?: boolean;
  /** True if stderr is a log in the format of the config, and not output for a user in a shell. */
  logs?: boolean;
}

/** Loads the config that the options name and prints warnings to stderr. */
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
  const options = { files, overrides, strict: flags.has('strict'), bootstrap, self, ...(texts && { texts }) };
  const { config, created } = logs ? loadForLogs(options) : loadConfig(options);
  if (created !== undefined) note(`mcpx: created the config file ${created}`);
  if (!quiet) for (const warning of config.warnings) warn(warningText(warning));
  return config;
}

/** Loads a config and writes stderr in its format from then on, also if the config has an error. */
function loadForLogs(options: LoadOptions & { files: string[] }): Loaded {
  const format = lookup('MCPX_LOG_FORMAT', environmentOf());
  if (format === 'json') writeStderrAsJson();
  try {
    const loaded = loadConfig(options);
    if (format !== 'json' && loaded.config.settings.log.format === 'json') writeStderrAsJson();
    return loaded;
  } catch (error) {
    if (!format && asksForJson(options.files)) writeStderrAsJson();
    throw error;
  }
}

/** Source of catalogs: `stored` allows those on disk, `live` requires lists from the servers. */
type Catalogs = 'stored' | 'live';

/** Returns the path of the file with the totals of saved tokens over all runs. */
export function ledgerFile(): string {
  return join(homeFolder(environmentOf()), 'stats.json');
}

interface OpenOptions {
  catalogs?: Catalogs;
  /** The file to which this run adds its saved tokens. */
  counts?: string;
  /** Set if a user waits: it reports slow starts, and calls wait for a download without a timeout. */
  attended?: ((line: string) => void) | undefined;
  /** True if sessions have to survive a restart. */
  resumable?: boolean;
}

/** Returns the options of commands in errors. Clients with a token may not know the paths of config files. */
function optionsFor(config: Config): string[] {
  const { tokens, oauth } = config.settings.http.auth;
  return tokens.length > 0 || oauth.mode !== 'off' ? [] : configOptions(config);
}

/** Creates the App of a config, with its catalogs on disk. The demo writes no files. */
export function openApp(
  config: Config,
  log: Log,
  { catalogs = 'stored', counts, attended, resumable = false }: OpenOptions = {},
): App {
  const told = attended && { attended };
  if (config.files.length === 0) return createApp(config, { log });
  const home = homeFolder(environmentOf());
  const oauth = createOAuth({ file: tokensFile(environmentOf()), log, options: optionsFor(config) });
  const stored = createCatalogStore({ folder: join(home, 'cache'), log });
  const store = catalogs === 'stored' ? stored : writeOnly(stored);
  const problem = unwritable(home);
  if (problem !== undefined) {
    log.warn(problem);
    const unchanged = readOnly(store);
    return createApp(config, { log, store: unchanged, lockFile: openLockFile(), oauth, problems: [problem], ...told });
  }
  removeLeftovers(home, config.files);
  const children = createChildRecords({ folder: join(home, 'run'), log });
  void children.reap();
  const stderr = createStderrFiles({ folder: join(home, 'logs'), log });
  const ledger = counts !== undefined && config.settings.stats ? createLedger({ file: counts, log }) : createLedger();
  const usage = createUsage({ file: join(home, 'usage.json'), log });
  const resultFolder = join(home, 'results');
  const shownFolder = resumable ? join(sessionsFolder(environmentOf()), 'shown') : undefined;
  const failures = createFailureStore({ folder: join(home, 'cache') });
  const kept = { children, stderr, failures, ledger, usage, resultFolder, shownFolder, oauth };
  return createApp(config, { log, store, lockFile: openLockFile(), ...kept, ...told });
}

/** Returns a message about the consequences if mcpx's folder is not writable; undefined otherwise. */
function unwritable(home: string): string | undefined {
  try {
    ensureFolder(home);
    accessSync(home, constants.W_OK);
    return undefined;
  } catch (error) {
    const lost = [
      'the lists of the servers are not stored, and every start has to request them',
      'their stderr output and the count of saved tokens are not stored',
      'if mcpx is killed, its next start cannot end the processes that are left',
    ];
    return `the folder "${home}" cannot be written (${codeOf(error) ?? messageOf(error)}): ${lost.join('; ')}. Set MCPX_HOME to a writable folder`;
  }
}

/** Removes temporary files of processes that were killed during a write. */
function removeLeftovers(home: string, configs: readonly string[]): void {
  const folders = ['', 'cache', 'setup', join('sessions', 'shown')];
  for (const folder of folders) removeAbandonedTemps(join(home, folder));
  for (const file of configs) {
    for (const name of [basename(file), `${basename(file)}.bak`, `${basename(file)}.lock`])
      removeAbandonedTemps(dirname(file), name);
  }
}

/** Opens the file with the accepted definitions of tools. */
export function openLockFile(): LockFile {
  return createLockFile({ path: join(homeFolder(environmentOf()), 'lock.json') });
}

/** Kills the App's children if the process exits before a regular stop, and speeds up the stop on a second signal. */
export function bindToProcess(app: App, { atExit, hurry }: Pick<Invocation, 'atExit' | 'hurry'>): void {
  atExit(() => app.killNow());
  hurry?.addEventListener('abort', () => void app.stop(STOP_FAST), { once: true });
}

/** Prints which of several profiles is used if none was named. */
export function noteUnchosen(config: Config): void {
  const chosen = unchosenProfile(config);
  if (chosen === undefined) return;
  const word = profileWord(config);
  const names = config.profiles.flatMap(({ name, enabled }) => (enabled ? [`"${name}"`] : []));
  note(
    `mcpx: no ${word} is called "default", so the first of ${names.join(', ')} is used: "${chosen}". Select another with --profile or MCPX_PROFILE`,
  );
}

/** Runs a read-only command with an App and stops it afterwards. The command reports upstream errors, so the log is quiet. */
export function withApp<T>(
  invocation: Invocation,
  work: (app: App, config: Config) => Promise<T>,
  catalogs: Catalogs = 'stored',
): Promise<T> {
  return withAppOf(readConfig(invocation.flags), invocation, work, catalogs);
}

/** Like `withApp`, for a config that is already loaded. */
export async function withAppOf<T>(
  config: Config,
  invocation: Invocation,
  work: (app: App, config: Config) => Promise<T>,
  catalogs: Catalogs,
): Promise<T> {
  const { status } = await import('./status-lines.ts');
  noteUnchosen(config);
  const { log } = config.settings;
  const app = openApp(config, createLog({ ...log, level: log.level === 'debug' ? 'debug' : 'error' }), {
    catalogs,
    attended: (line) => status.start(line),
  });
  bindToProcess(app, invocation);
  try {
    return await work(app, config);
  } finally {
    await app.stop();
  }
}

/** Returns the maximum milliseconds until all servers have started or failed, if `concurrency` of them start at a time. */
export function longestOf(servers: ServerSpec[], { concurrency }: Pick<Settings['connect'], 'concurrency'>): number {
  const waits = Math.floor(Math.max(0, servers.length - 1) / concurrency);
  return Math.max(0, ...servers.map(longestStart)) + waits * MAX_LISTING_TIME;
}

/** Returns the options that select the config and profile, as typed, for a command in a hint. */
export function sourceFlags(flags: Flags): string {
  const named = ['config', 'profile'].flatMap((name) => flags.values(name).map((value) => `--${name} ${value} `));
  return [...(flags.has('demo') ? ['--demo '] : []), ...named].join('');
}

/** Splits `server.tool` at the first dot; server names have no dots. */
export function splitTarget(target: string): { server: string; tool?: string } {
  const dot = target.indexOf('.');
  return dot < 0 ? { server: target } : { server: target.slice(0, dot), tool: target.slice(dot + 1) };
}
