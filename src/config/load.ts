/** Loads a `Config` from files, environment variables and flags. */
import { McpxError } from '../errors.ts';
import { BUILTINS, type Config, DEFAULTS, profileWord, SERVER_DEFAULTS, type ServerSpec } from './config.ts';
import { createDiagnostics, type Diagnostics } from './diagnostics.ts';
import { type Environment, environmentOf } from './environment.ts';
import { parseSource, readSource, type Source } from './jsonc-file.ts';
import { type Self, withoutLoops } from './loop-guard.ts';
import { type Merged, mergeDrafts } from './merge.ts';
import { didYouMean } from './nearest.ts';
import { normalize } from './normalize.ts';
import { applyOverrides, type Overrides, withFront } from './overrides.ts';
import { bootstrap, configFiles } from './paths.ts';
import { warnSeparator } from './separator.ts';

/** Fields of the environment that are not given are read from the process. */
export interface LoadOptions extends Partial<Environment> {
  /** The files of `--config`, lowest precedence first. If empty: MCPX_CONFIG, else the default path. */
  files?: readonly string[];
  /** Flags, which win over the environment, which wins over files. */
  overrides?: Overrides;
  /** If true, unknown keys are errors. */
  strict?: boolean;
  /** If true, a default config with comments is written if there is none. */
  bootstrap?: boolean;
  /** Texts to use instead of the contents of files, to validate an edit before it is written. */
  texts?: ReadonlyMap<string, string>;
  /** The identity of this process for the loop guard; if undefined, no server is skipped. */
  self?: Self;
}

export interface Loaded {
  config: Config;
  /** The default config that was just written. */
  created?: string;
}

/** Throws McpxError: `config` with file, line and caret; `usage` for a wrong flag; `not_found` for an unknown profile. */
export function loadConfig(options: LoadOptions = {}): Loaded {
  const world = environmentOf(options);
  const findings = createDiagnostics(options.strict === undefined ? {} : { strict: options.strict });
  const { files, created } = findFiles(options, world, findings);
  const sources = files.map((file) => {
    const text = options.texts?.get(file);
    return text === undefined ? readSource(file) : parseSource(file, text);
  });
  const drafts = sources.map((source) => normalize(source, { findings, world }));
  findings.check(sources);
  const merged = mergeDrafts(drafts, findings);
  findings.check(sources);
  const config = finish(merged, { options, world, findings, sources });
  return { config, ...(created === undefined ? {} : { created }) };
}

/** Returns a config with the built-in servers. It reads no file. */
export function demoConfig(options: Pick<LoadOptions, 'overrides' | keyof Environment> = {}): Config {
  const servers = BUILTINS.map(builtinServer);
  const profile = { name: 'default', enabled: true, servers, tools: {}, resources: {}, prompts: {} };
  const merged = { settings: structuredClone(DEFAULTS), profiles: [profile] };
  return finish(merged, { options, world: environmentOf(options), findings: createDiagnostics(), sources: [] });
}

function builtinServer(name: string): ServerSpec {
  const { timeout, startupTimeout, concurrency, reconnect } = SERVER_DEFAULTS;
  return {
    ...{ type: 'builtin', name, builtin: name, disabled: false, timeout, startupTimeout, concurrency },
    ...{ reconnect: { ...reconnect }, tools: {}, resources: {}, prompts: {}, place: { file: '', path: [] } },
  };
}

function findFiles(
  options: LoadOptions,
  world: Environment,
  findings: Diagnostics,
): { files: string[]; created?: string } {
  const { files, fallback } = configFiles(options.files ?? [], world);
  if (files.length > 0 || fallback === undefined || options.bootstrap !== true) return { files };
  const { created, problem } = bootstrap(fallback, world);
  if (problem !== undefined) {
    findings.warn({ message: problem, hint: 'set MCPX_HOME to a writable folder' });
    return { files: [] };
  }
  return { files: [fallback], ...(created === undefined ? {} : { created }) };
}

interface Finish {
  options: Pick<LoadOptions, 'overrides' | 'self'>;
  world: Environment;
  findings: Diagnostics;
  sources: readonly Source[];
}

function finish(merged: Merged, { options, world, findings, sources }: Finish): Config {
  const { settings, profile, front } = applyOverrides(merged.settings, options.overrides ?? {}, world, findings);
  if (settings.audit.required && settings.audit.file === null) {
    const message = '"audit.required" needs "audit.file": there is no audit log';
    findings.error({ message, hint: 'add "file": "audit.jsonl" to "audit"' });
  }
  findings.check(sources);
  const { self } = options;
  const kept =
    self === undefined
      ? merged.profiles
      : withoutLoops(merged.profiles, { self, http: settings.http, findings, world });
  const profiles = withFront(kept, front);
  if (profile !== undefined) checkProfile(profile, profiles);
  warnSeparator(settings, profiles, { findings, sources });
  return {
    files: sources.map(({ file }) => file),
    settings,
    profiles,
    ...(profile === undefined ? {} : { profile }),
    warnings: findings.warnings(sources),
  };
}

function checkProfile(name: string, profiles: Config['profiles']): void {
  const found = profiles.find((profile) => profile.name === name);
  if (found?.enabled === true) return;
  const word = profileWord({ profiles }, name);
  if (found !== undefined) {
    const hint = `set "enabled": true in ${word} "${name}"`;
    throw new McpxError('config', `${word} "${name}" is disabled`, { hint });
  }
  const names = profiles.map((profile) => profile.name);
  const hint = didYouMean(name, names) ?? `the ${word}s are: ${names.join(', ')}`;
  throw new McpxError('not_found', `there is no ${word} "${name}"`, { hint });
}
