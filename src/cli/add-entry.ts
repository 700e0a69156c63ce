/** The entry of a server that `mcpx add` is given as a command, a URL, a module or a built-in toolbox. */
import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { JsonRecord } from '../config/json-data.ts';
import { didYouMean } from '../config/nearest.ts';
import { TYPES } from '../config/server-target.ts';
import { McpxError } from '../errors.ts';
import { type AddRequest, type FileRequest, readHeader, readVariable } from './add-request.ts';
import type { Flags } from './command.ts';

export interface NewEntry {
  entry: JsonRecord;
  /** Sentences for the user. */
  notes: string[];
}

type Written = Exclude<AddRequest, FileRequest>;

export function entryOf(request: Written, flags: Flags, cwd: string): NewEntry {
  const type = typeOf(flags);
  switch (request.kind) {
    case 'command':
      return commandEntry(request, { type, flags, cwd });
    case 'url':
      return urlEntry(request, { type, flags });
    case 'module':
      refuseOptions(flags, 'a module', ['env', 'env-file', 'header']);
      return { entry: { type: 'module', module: existing(request.file, cwd) }, notes: [] };
    default:
      refuseOptions(flags, 'a built-in server', ['env', 'env-file', 'header']);
      return {
        entry: { type: 'builtin', ...(request.toolbox !== request.name && { builtin: request.toolbox }) },
        notes: [],
      };
  }
}

/** Returns the type of `--type` in its usual spelling. */
function typeOf(flags: Flags): string | undefined {
  const written = flags.value('type');
  if (written === undefined) return undefined;
  const type = TYPES.get(written.toLowerCase());
  if (type !== undefined) return type;
  const known = [...new Set(TYPES.values())];
  const hint = didYouMean(written, known) ?? `the types are ${known.join(', ')}`;
  throw usage(`there is no type "${written}"`, hint);
}

interface Context {
  type: string | undefined;
  flags: Flags;
}

function commandEntry(
  { name, command: written, args }: Extract<AddRequest, { kind: 'command' }>,
  { type, flags, cwd }: Context & { cwd: string },
): NewEntry {
  refuseOptions(flags, 'a command', ['header']);
  if (type !== undefined && type !== 'stdio') {
    throw usage(`a server with a command has the type "stdio", not "${type}"`, `mcpx add ${name} -- ${written}`);
  }
  const env = Object.fromEntries(flags.values('env').map(readVariable));
  const envFile = flags.values('env-file').map((file) => existing(file, cwd));
  // The config resolves a path from its own folder, and the user from the working directory.
  const isPath = /[\\/]/.test(written) && !isAbsolute(written) && existsSync(resolve(cwd, written));
  const command = isPath ? resolve(cwd, written) : written;
  const relative = args.find((word) => isRelativePath(word, cwd));
  const notes = relative === undefined ? [] : [`"${relative}" is relative, so the server runs in ${cwd}`];
  const entry = {
    command,
    ...(args.length > 0 && { args }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(envFile.length > 0 && { envFile }),
    ...(relative !== undefined && { cwd }),
  };
  return { entry, notes };
}

/** True if a word names a file or folder from the working directory. */
function isRelativePath(word: string, cwd: string): boolean {
  return /[.\\/]/.test(word) && !word.startsWith('-') && !isAbsolute(word) && existsSync(resolve(cwd, word));
}

function urlEntry({ name, url }: Extract<AddRequest, { kind: 'url' }>, { type, flags }: Context): NewEntry {
  refuseOptions(flags, 'a URL', ['env', 'env-file']);
  const isSocket = /^wss?:/i.test(url);
  const fitting = isSocket ? ['ws'] : ['http', 'sse', 'auto'];
  if (type !== undefined && !fitting.includes(type)) {
    throw usage(
      `a server at "${new URL(url).protocol}//" cannot have the type "${type}"`,
      `mcpx add ${name} ${new URL(url).origin}… --type ${fitting[0]}`,
    );
  }
  const headers = Object.fromEntries(flags.values('header').map(readHeader));
  return {
    entry: { ...(type !== undefined && { type }), url, ...(Object.keys(headers).length > 0 && { headers }) },
    notes: [],
  };
}

const OPTIONS: Record<string, string> = {
  env: '-e sets a variable of a program; a URL has headers: -H "Name: value"',
  'env-file': '--env-file has variables of a program; a URL has headers: -H "Name: value"',
  header: '-H sets a header of a URL; a program has variables: -e KEY=VALUE',
};

function refuseOptions(flags: Flags, what: string, names: string[]): void {
  for (const name of names) {
    if (flags.has(name)) throw usage(`${what} takes no --${name}`, OPTIONS[name] ?? 'mcpx help add');
  }
  if (flags.has('set'))
    throw usage(`${what} takes no --set`, '--set answers the questions of a server.json or a bundle');
}

function existing(file: string, cwd: string): string {
  const path = resolve(cwd, file);
  if (existsSync(path)) return path;
  throw usage(`"${path}" does not exist`, 'name a file that exists');
}

function usage(message: string, hint: string): McpxError {
  return new McpxError('usage', message, { hint });
}
