/** The one way from files, environment and flags to a `Config`, shared by everything that needs one. */
import { McpxError } from '../errors.ts';
import { BUILTINS, type Config, DEFAULTS, profileWord, SERVER_DEFAULTS, type ServerSpec } from './config.ts';
import { createFindings, type Findings } from './findings.ts';
import { type Self, withoutLoops } from './guard.ts';
import { warnInert } from './inert.ts';
import { type Merged, mergeDrafts } from './merge.ts';
import { didYouMean } from './nearest.ts';
import { normalize } from './normalize.ts';
import { applyOverrides, type Overrides, withFront } from './overrides.ts';
import { warnSeparator } from './separator.ts';
import { parseSource, readSource, type Source } from './source.ts';
import { bootstrap, configFiles } from './store.ts';
import { type World, worldOf } from './world.ts';

/** The surroundings are the real ones unless given. */
export interface LoadOptions extends Partial<World> {
  /** `--config`, lowest first. None: MCPX_CONFIG, else the default place. */
  files?: readonly string[];
  /** Flags; they win over the environment, which wins over files. */
  overrides?: Overrides;
  /** Unknown keys are errors. */
  strict?: boolean;
  /** Write a commented default where there is none. */
  bootstrap?: boolean;
  /** What files would hold, for a look before they are written. */
  texts?: ReadonlyMap<string, string>;
  /** For the loop guard; without it nothing is skipped. */
  self?: Self;
}

export interface Loaded {
  config: Config;
  /** The default config that was just written. */
  created?: string;
}

/** Throws McpxError: `config` with file, line and caret; `usage` for a wrong flag; `not_found` for an unknown profile. */
export function loadConfig(options: LoadOptions = {}): Loaded {
  const world = worldOf(options);
  const findings = createFindings(options.strict === undefined ? {} : { strict: options.strict });
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

/** The built-in servers, without any file. */
export function demoConfig(options: Pick<LoadOptions, 'overrides' | keyof World> = {}): Config {
  const servers = BUILTINS.map(builtinServer);
  const profile = { name: 'default', enabled: true, servers, tools: {}, resources: {}, prompts: {} };
  const merged = { settings: structuredClone(DEFAULTS), profiles: [profile] };
  return finish(merged, { options, world: worldOf(options), findings: createFindings(), sources: [] });
}

function builtinServer(name: string): ServerSpec {
  const { timeout, startupTimeout, concurrency, reconnect } = SERVER_DEFAULTS;
  return {
    ...{ type: 'builtin', name, builtin: name, disabled: false, timeout, startupTimeout, concurrency },
    ...{ reconnect: { ...reconnect }, tools: {}, resources: {}, prompts: {}, place: { file: '', path: [] } },
  };
}

function findFiles(options: LoadOptions, world: World, findings: Findings): { files: string[]; created?: string } {
  const { files, fallback } = configFiles(options.files ?? [], world);
  if (files.length > 0 || fallback === undefined || options.bootstrap !== true) return { files };
  const { created, problem } = bootstrap(fallback, world);
  if (problem !== undefined) {
    findings.warn({ message: problem, hint: 'set MCPX_HOME to a folder that you may write' });
    return { files: [] };
  }
  return { files: [fallback], ...(created === undefined ? {} : { created }) };
}

interface Finish {
  options: Pick<LoadOptions, 'overrides' | 'self'>;
  world: World;
  findings: Findings;
  sources: readonly Source[];
}

function finish(merged: Merged, { options, world, findings, sources }: Finish): Config {
  const { settings, profile, front } = applyOverrides(merged.settings, options.overrides ?? {}, world, findings);
  if (settings.audit.required && settings.audit.file === null) {
    const message = '"audit.required" needs "audit.file": there is nothing to write calls to';
    findings.error({ message, hint: 'add "file": "audit.jsonl" to "audit"' });
  }
  findings.check(sources);
  warnInert(merged.profiles, findings);
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
