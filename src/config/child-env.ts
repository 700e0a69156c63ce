/** Builds the environment of an upstream's process from inherited variables, env files and the entry's `env`. */
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { McpxError } from '../errors.ts';
import type { Settings } from './config.ts';
import type { Environment } from './environment.ts';

/** Variables that every program needs to run: its user, its shell, its PATH. */
const BASE = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];

const WINDOWS = [
  ...['ALLUSERSPROFILE', 'APPDATA', 'COMPUTERNAME', 'COMSPEC', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA'],
  ...['NUMBER_OF_PROCESSORS', 'OS', 'PATHEXT', 'PROCESSOR_*', 'PROGRAMDATA', 'PROGRAMFILES', 'PROGRAMFILES(X86)'],
  ...['PROGRAMW6432', 'PUBLIC', 'SYSTEMDRIVE', 'SYSTEMROOT', 'USERDOMAIN', 'USERNAME', 'USERPROFILE', 'WINDIR'],
];

/** Variables for proxies, certificates, locale, temporary folders and package managers. None is specific to one upstream. */
const SURROUNDINGS = [
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY', 'FTP_PROXY'],
  ...['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE'],
  ...['CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'AWS_CA_BUNDLE'],
  ...['LANG', 'LANGUAGE', 'LC_*', 'TZ'],
  ...['TMPDIR', 'TMP', 'TEMP'],
  ...['XDG_*', 'NPM_CONFIG_*', 'UV_*', 'PIP_*'],
];

/** Variables whose lower-case spelling programs read as well. */
const BOTH_CASES = /^(?:(?:https?|no|all|ftp)_proxy|npm_config_.*)$/;

/** Variables of mcpx itself. No upstream inherits them, not even with `all`. */
const OWN = /^(?:MCPX_TOKEN|MCPX_INPUT_.*)$/i;

/** Returns the variables that `connect.inheritEnv` lets a child inherit. */
export function inheritedEnv(
  rule: Settings['connect']['inheritEnv'],
  { env, platform }: Pick<Environment, 'env' | 'platform'>,
): Map<string, string> {
  const inherited = new Map<string, string>();
  const wanted = selector(rule, platform);
  for (const [name, value] of Object.entries(env)) {
    // A value that starts with "()" is a function that an old shell exported, so it is code.
    if (value === undefined || value.startsWith('()') || OWN.test(name)) continue;
    if (wanted(name)) inherited.set(name, value);
  }
  return inherited;
}

function selector(rule: Settings['connect']['inheritEnv'], platform: NodeJS.Platform): (name: string) => boolean {
  if (rule === 'all') return () => true;
  if (rule === 'none') return () => false;
  const windows = platform === 'win32';
  if (rule !== 'safe') return matcher(rule, windows);
  const safe = matcher([...BASE, ...SURROUNDINGS, ...(windows ? WINDOWS : [])], windows);
  return (name) => safe(name) || (BOTH_CASES.test(name) && safe(name.toUpperCase()));
}

/** Matches whole names, and prefixes that are written with a `*` at the end. */
function matcher(names: readonly string[], ignoreCase: boolean): (name: string) => boolean {
  const spelled = (name: string): string => (ignoreCase ? name.toUpperCase() : name);
  const exact = new Set(names.map(spelled));
  const beginnings = names.filter((name) => name.endsWith('*')).map((name) => spelled(name.slice(0, -1)));
  return (name) => exact.has(spelled(name)) || beginnings.some((beginning) => spelled(name).startsWith(beginning));
}

export type Pairs = Iterable<readonly [string, string | null]>;

/** Merges layers of variables. Later layers win, and null removes a variable. On Windows, `Path` and `PATH` are the same. */
export function childEnv(layers: Pairs[], { platform }: Pick<Environment, 'platform'>): Record<string, string> {
  const result = new Map<string, readonly [string, string]>();
  const keyOf = (name: string): string => (platform === 'win32' ? name.toUpperCase() : name);
  for (const layer of layers) {
    for (const [name, value] of layer) {
      if (value === null) result.delete(keyOf(name));
      else result.set(keyOf(name), [result.get(keyOf(name))?.[0] ?? name, value]);
    }
  }
  return Object.fromEntries(result.values());
}

/** Reads the variables of one env file, without expanding placeholders. */
export function envFileOf(file: string, server: string): Pairs {
  try {
    return parseEnvText(readFileSync(file, 'utf8'));
  } catch (cause) {
    const hint = `create it, or remove it from "envFile"`;
    throw new McpxError('config', `env file "${file}" of server "${server}" cannot be read`, { hint, cause });
  }
}

export function parseEnvText(text: string): [string, string][] {
  return Object.entries(parseEnv(text.replace(/^\uFEFF/, ''))).map(([name, value]) => [name, value ?? '']);
}
