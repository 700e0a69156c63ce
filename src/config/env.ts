/** Placeholders, env files and the inherited environment: turns a `ServerSpec` into what is really launched, at launch time. */
import { createHash } from 'node:crypto';
import { McpxError, messageOf } from '../errors.ts';
import { childEnv, envFileOf, inheritedEnv, type Pairs } from './child-env.ts';
import type { Place, RemoteServer, ServerSpec, Settings, StdioServer, Token } from './config.ts';
import { createExpander, type Expander, expandText, gapError, variablesOf } from './expander.ts';
import { isRecord } from './json.ts';
import { launchSecrets } from './launch-secrets.ts';
import { maskText } from './redact.ts';
import { absolutePath, pathsOf, type World, worldOf } from './world.ts';

/** A server with every placeholder replaced. Holds secrets: never logged, never stored. */
export type Launch =
  | {
      type: 'stdio';
      /** Absolute, or a bare name for PATH. */
      command: string;
      args: string[];
      /** The complete environment of the child. */
      env: Record<string, string>;
      cwd: string | undefined;
      framing: 'newline' | 'content-length';
    }
  | {
      type: 'http' | 'sse' | 'ws' | 'auto';
      url: string;
      headers: Record<string, string>;
      oauth?: Record<string, unknown>;
    }
  | {
      type: 'module';
      /** Absolute. */
      module: string;
      /** The complete environment of the child that runs it. */
      env: Record<string, string>;
    }
  | { type: 'builtin'; builtin: string };

/** `secrets`: every secret value in it, see `launchSecrets`. */
export type ResolvedLaunch = Launch & { secrets: string[] };

/** The surroundings are the real ones unless given. */
export interface LaunchContext extends Partial<World> {
  inheritEnv: Settings['connect']['inheritEnv'];
  /** The first root of the client, where it sent roots; the working directory otherwise. */
  workspaceFolder?: string;
}

/** Throws McpxError('config') naming every missing variable; that one server is then misconfigured and the rest run. */
export function resolveLaunch(spec: ServerSpec, context: LaunchContext): ResolvedLaunch {
  const expander = expanderFor(spec, context);
  const launch = build(spec, expander, context);
  if (expander.gaps.length > 0) throw gapError(`server "${spec.name}"`, expander);
  const { own = {}, ...resolved } = launch();
  return { ...resolved, secrets: launchSecrets({ spec, launch: resolved, own, filled: expander.filled }) };
}

/** The variables to set before a server can start; reads files at most, and starts nothing. */
export function missingVariables(spec: ServerSpec, context: LaunchContext): string[] {
  const expander = expanderFor(spec, context);
  build(spec, expander, context);
  return variablesOf(expander.gaps);
}

/** Files outside of the config that a launch reads by name: those of `envFile`. */
export function envFilesOf(spec: ServerSpec, context: LaunchContext): string[] {
  if (spec.type !== 'stdio') return [];
  const { text, folder, world } = expanderFor(spec, context);
  return spec.envFile.map((file) => absolutePath(text(file), folder, world));
}

/**
 * Changes with what files outside the config add to a launch: env files, `${file:…}`, answers to `${input:…}`. A digest, because they
 * may be secret; empty for a server that uses none, which is most of them.
 */
export function launchDigest(spec: ServerSpec, context: LaunchContext): string {
  const files = spec.type === 'stdio' && spec.envFile.length > 0;
  if (!files && !/\{(?:file|input):/.test(JSON.stringify(spec))) return '';
  let launch: unknown;
  try {
    launch = resolveLaunch(spec, context);
  } catch (error) {
    launch = messageOf(error);
  }
  return createHash('sha256').update(JSON.stringify(launch)).digest('hex');
}

function expanderFor(spec: ServerSpec, context: LaunchContext): Expander {
  const world = worldOf(context);
  return createExpander({
    folder: folderOf(spec.place, world),
    workspace: context.workspaceFolder ?? world.cwd,
    world,
  });
}

function folderOf(place: Place | undefined, world: World): string {
  return place === undefined || place.file === '' ? world.cwd : pathsOf(world).dirname(place.file);
}

/** The HTTP tokens with their secrets filled in. Throws McpxError('config') for one that has none, that cannot be sent, or that is another's as well. */
export function resolveTokens(
  tokens: readonly Token[],
  given: Partial<World> = {},
): (Omit<Token, 'token'> & { secret: string })[] {
  const world = worldOf(given);
  const owners = new Map<string, string>();
  return tokens.map(({ token, place, ...rest }) => {
    const subject = `token "${rest.name}"`;
    const secret = expandText(token, { subject, folder: folderOf(place, world), world });
    const wrong = (message: string, hint: string) => new McpxError('config', `${subject} ${message}`, { hint });
    if (secret === '') throw wrong('is empty', 'give it a value, or remove it');
    if (!SENDABLE.test(secret))
      throw wrong('has characters that no client can send', 'use letters, digits and -._~+/=');
    // What the environment adds may be one of the file again: whoever asks a gateway from a shell has it there.
    const owner = place === undefined ? undefined : owners.get(secret);
    if (owner !== undefined) throw wrong(`has the same secret as "${owner}"`, 'give each its own');
    owners.set(secret, rest.name);
    return { ...rest, secret };
  });
}

/** Visible ASCII: a header holds nothing else. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** `own`: the variables that the entry sets itself. */
type Built = Launch & { own?: Record<string, string> };

/** Expands everything at once, so that all gaps are known; what it returns does the rest. */
function build(spec: ServerSpec, expander: Expander, context: LaunchContext): () => Built {
  if (spec.type === 'stdio') return buildStdio(spec, expander, context);
  if (spec.type === 'builtin') return () => ({ type: 'builtin', builtin: spec.builtin });
  if (spec.type === 'module') {
    const { world, folder } = expander;
    const module = expander.text(spec.module);
    const env = childEnv([inheritedEnv(context.inheritEnv, world)], world);
    return () => ({ type: 'module', module: absolutePath(module, folder, world), env });
  }
  return buildRemote(spec, expander);
}

function buildStdio(spec: StdioServer, expander: Expander, context: LaunchContext): () => Built {
  const { world, folder, text, record } = expander;
  const command = text(spec.command);
  const args = spec.args.map(text);
  const set = Object.entries(record(spec.env));
  const files = spec.envFile.map((file) => absolutePath(text(file), folder, world));
  const cwd = spec.cwd === undefined ? undefined : absolutePath(text(spec.cwd), folder, world);
  return () => {
    const own: Pairs[] = [...files.map((file) => envFileOf(file, spec.name)), set];
    return {
      type: 'stdio',
      command: resolveCommand(command, spec.name, expander),
      args,
      env: childEnv([inheritedEnv(context.inheritEnv, world), ...own], world),
      own: childEnv(own, world),
      cwd,
      framing: spec.framing,
    };
  };
}

/** A bare name is left for PATH; a path belongs to the file that defines it. */
function resolveCommand(command: string, server: string, { world, folder }: Expander): string {
  if (command.trim() === '') {
    throw new McpxError('config', `server "${server}" has an empty command`, { hint: 'set "command" to a program' });
  }
  const isPath = world.platform === 'win32' ? /[\\/]/.test(command) : command.includes('/');
  return isPath ? absolutePath(command, folder, world) : command;
}

function buildRemote(spec: RemoteServer, { text, record }: Expander): () => Built {
  const url = text(spec.url);
  const headers = record(spec.headers);
  const oauth = spec.oauth === undefined ? undefined : deep(spec.oauth, text);
  return () => {
    // The URL is quoted as written: with its placeholders filled in it may hold another secret.
    if (!URL.canParse(url)) {
      const hint = 'write a complete URL, such as https://example.com/mcp';
      throw new McpxError('config', `the URL of server "${spec.name}" is not valid: "${maskText(spec.url)}"`, { hint });
    }
    return { type: spec.type, url, headers, ...(isRecord(oauth) ? { oauth } : {}) };
  };
}

function deep(value: unknown, text: (written: string) => string): unknown {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return value.map((item) => deep(item, text));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, deep(item, text)]));
}
