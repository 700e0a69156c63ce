/** A throw-away home for config tests: files to load, and a short form of what came out. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Config, DEFAULTS, type ServerSpec } from '../../src/config/config.ts';
import { isRecord, type JsonRecord, own, sameJson } from '../../src/config/json-data.ts';
import { type LoadOptions, loadConfig } from '../../src/config/load.ts';
import { McpxError } from '../../src/errors.ts';

export interface Home {
  folder: string;
  /** Writes a file below the folder and returns its path. */
  write(name: string, text: string | object): string;
  path(name: string): string;
  /** loadConfig with this home and nothing of the real environment. */
  load(options?: LoadOptions): Config;
}

export function createHome(env: Record<string, string> = {}): Home {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'mcpx-config-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  return {
    folder,
    path,
    write(name, text) {
      mkdirSync(dirname(path(name)), { recursive: true });
      writeFileSync(path(name), typeof text === 'string' ? text : JSON.stringify(text, null, 2));
      return path(name);
    },
    load: (options = {}) => loadConfig({ env, home: folder, cwd: folder, ...options }).config,
  };
}

/** Loads one document and returns its only profile's servers by name. */
export function serversOf(document: object, options: LoadOptions = {}): Map<string, ServerSpec> {
  const home = createHome();
  const config = home.load({ files: [home.write('config.json', document)], ...options });
  return new Map(config.profiles.flatMap(({ servers }) => servers.map((spec) => [spec.name, spec])));
}

/** The error that loading throws. */
export function failure(action: () => unknown): McpxError {
  try {
    action();
  } catch (error) {
    if (error instanceof McpxError) return error;
    throw error;
  }
  throw new Error('expected an McpxError');
}

/** Returns the settings of a config that differ from the defaults, without their places in the file. */
export function brief(config: Config): JsonRecord {
  const profiles = config.profiles.map(({ name, servers, ...rest }) => [
    name,
    { ...(changes(rest, NO_PROFILE) as object), servers: servers.map(briefServer) },
  ]);
  return {
    profiles: Object.fromEntries(profiles),
    settings: changes(config.settings, DEFAULTS),
    warnings: config.warnings.map(
      ({ line, column, message, hint }) => `${line}:${column} ${message}${hint === undefined ? '' : ` (${hint})`}`,
    ),
  };
}

const NO_PROFILE = { enabled: true, tools: {}, resources: {}, prompts: {} };
const PLAIN_SERVER = {
  disabled: false,
  timeout: 600_000,
  startupTimeout: 60_000,
  concurrency: 128,
  reconnect: { interval: 500, maxRetries: 10 },
  ...{ tools: {}, resources: {}, prompts: {}, args: [], env: {}, envFile: [], framing: 'newline', headers: {} },
};

function briefServer({ place: _place, ...spec }: ServerSpec): unknown {
  return changes(spec, PLAIN_SERVER);
}

function changes(value: unknown, base: unknown): unknown {
  if (!isRecord(value) || !isRecord(base)) return value;
  const changed = Object.entries(value).filter(([key, item]) => !sameJson(item, own(base, key)));
  return Object.fromEntries(changed.map(([key, item]) => [key, changes(item, own(base, key))]));
}
