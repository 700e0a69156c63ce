/** `mcpx get`: prints the entry of one server with its place and its secrets masked. */
import type { Profile, ServerSpec } from '../config/config.ts';
import { missingVariables } from '../config/env.ts';
import { isRecord, type JsonRecord } from '../config/json-data.ts';
import { positionOf, readSource } from '../config/jsonc-file.ts';
import { describeServer } from '../config/show.ts';
import type { Invocation } from './command.ts';
import { findEntry } from './config-edit.ts';
import { print, printJson, table } from './output.ts';

export async function run({ args, flags }: Invocation): Promise<number> {
  const { config, spec } = findEntry(args[0] ?? '', flags);
  const { file, path } = spec.place;
  const { line } = positionOf(readSource(file), path, 'key');
  const profiles = config.profiles.filter(({ servers }) => servers.includes(spec));
  const missing = missingVariables(spec, config.settings.connect);
  const entry = describeServer(spec);
  if (flags.has('json')) {
    const names = profiles.map(({ name }) => name);
    await printJson({ name: spec.name, enabled: !spec.disabled, file, line, profiles: names, missing, entry });
    return 0;
  }
  await print(
    table([
      ['name', spec.name],
      ['state', stateOf(spec, missing)],
      ...fieldRows(entry),
      ['profiles', profilesText(profiles)],
      ['file', `${file}:${line}`],
    ]),
  );
  return 0;
}

function stateOf({ disabled }: ServerSpec, missing: string[]): string {
  if (disabled) return 'disabled';
  return missing.length === 0 ? 'enabled' : `needs ${missing.join(', ')}`;
}

/** Returns a row for each field; the command and its arguments are one row, and each variable and header is one. */
function fieldRows({ command, args, disabled: _disabled, ...entry }: JsonRecord): string[][] {
  const words = command === undefined ? [] : [command, ...(Array.isArray(args) ? args : [])].map(String);
  const rows = Object.entries(entry).flatMap(([key, value]) => {
    if (key === 'env' || key === 'headers') return pairRows(key, value);
    return [[key, typeof value === 'string' ? value : JSON.stringify(value)]];
  });
  return words.length === 0 ? rows : [['command', words.map(quotedWord).join(' ')], ...rows];
}

function pairRows(key: string, value: unknown): string[][] {
  const pairs = Object.entries(isRecord(value) ? value : {});
  return pairs.map(([name, text], index) => {
    const pair = text === null ? `${name} is removed` : key === 'env' ? `${name}=${text}` : `${name}: ${text}`;
    return [index === 0 ? key : '', pair];
  });
}

function quotedWord(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : JSON.stringify(word);
}

function profilesText(profiles: Profile[]): string {
  if (profiles.length === 0) return 'none';
  return profiles.map(({ name, enabled }) => (enabled ? name : `${name} (disabled)`)).join(', ');
}
