/** Turns a `ServerSpec` into a launch: expands placeholders, reads env files and adds the inherited environment. */
import { createHash } from 'node:crypto';
import { McpxError, messageOf } from '../errors.ts';
import { childEnv, envFileOf, inheritedEnv, type Pairs } from './child-env.ts';
import type { Place, RemoteServer, ServerSpec, Settings, StdioServer, Token } from './config.ts';
import { absolutePath, type Environment, environmentOf, pathsOf } from './environment.ts';
import { createExpander, type Expander, expandText, gapError, variablesOf } from './expander.ts';
import type { GatewayOAuth } from './gateway-oauth.ts';
import { isRecord } from './json-data.ts';
import { launchSecrets } from './launch-secrets.ts';
import { maskText } from './redact.ts';

/** A server with every placeholder replaced. It holds secrets, so it is never logged and never stored. */
export type Launch =
  | {
      type: 'stdio';
      /** An absolute path, or a bare name that is looked up in PATH. */
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
      /** The program that prints more headers, with its complete environment; `keep` is in milliseconds. */
      helper?: { command: string; args: string[]; env: Record<string, string>; keep: number };
    }
  | {
      type: 'module';
      /** An absolute path. */
      module: string;
      /** The complete environment of the child that runs it. */
      env: Record<string, string>;
    }
  | { type: 'builtin'; builtin: string };

/** A launch with the list of its secret values, which `launchSecrets` collects. */
export type ResolvedLaunch = Launch & { secrets: string[] };

/** Fields of the environment that are not given are read from the process. */
export interface LaunchContext extends Partial<Environment> {
  inheritEnv: Settings['connect']['inheritEnv'];
  /** The first root that the client listed; if undefined, the working directory is used. */
  workspaceFolder?: string;
}

/** Throws McpxError('config') that names every missing variable. Only that server fails; the others run. */
export function resolveLaunch(spec: ServerSpec, context: LaunchContext): ResolvedLaunch {
  const expander = expanderFor(spec, context);
  const launch = build(spec, expander, context);
  if (expander.gaps.length > 0) throw gapError(`server "${spec.name}"`, expander);
  const { own = {}, ...resolved } = launch();
  return { ...resolved, secrets: launchSecrets({ spec, launch: resolved, own, filled: expander.filled }) };
}

/** Returns the variables that have to be set before a server can start. It may read files and starts no process. */
export function missingVariables(spec: ServerSpec, context: LaunchContext): string[] {
  const expander = expanderFor(spec, context);
  build(spec, expander, context);
  return variablesOf(expander.gaps);
}

/** Returns the absolute paths of the `envFile` files of a server. */
export function envFilesOf(spec: ServerSpec, context: LaunchContext): string[] {
  if (spec.type !== 'stdio') return [];
  const { text, folder, world } = expanderFor(spec, context);
  return spec.envFile.map((file) => absolutePath(text(file), folder, world));
}

/**
 * Returns a digest of the values that a launch takes from env files, `${file:…}` and `${input:…}`. It is a digest because the values
 * may be secret. It is empty for a server that uses none of them.
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
  const world = environmentOf(context);
  return createExpander({
    folder: folderOf(spec.place, world),
    workspace: context.workspaceFolder ?? world.cwd,
    world,
  });
}

function folderOf(place: Place | undefined, world: Environment): string {
  return place === undefined || place.file === '' ? world.cwd : pathsOf(world).dirname(place.file);
}

/** Expands the secrets of the HTTP tokens. Throws McpxError('config') for a secret that is empty, not visible ASCII, or used twice. */
export function resolveTokens(
  tokens: readonly Token[],
  given: Partial<Environment> = {},
): (Omit<Token, 'token'> & { secret: string })[] {
  const world = environmentOf(given);
  const owners = new Map<string, string>();
  return tokens.map(({ token, place, ...rest }) => {
    const subject = `token "${rest.name}"`;
    const secret = expandText(token, { subject, folder: folderOf(place, world), world });
    const wrong = (message: string, hint: string) => new McpxError('config', `${subject} ${message}`, { hint });
    if (secret === '') throw wrong('is empty', 'give it a value, or remove it');
    if (!SENDABLE.test(secret))
      throw wrong('has characters that an HTTP header cannot carry', 'use letters, digits and -._~+/=');
    // MCPX_TOKEN may repeat a token of the file: `mcpx status` in the same shell authenticates with that variable.
    const owner = place === undefined ? undefined : owners.get(secret);
    if (owner !== undefined) throw wrong(`has the same secret as "${owner}"`, 'give each token its own secret');
    owners.set(secret, rest.name);
    return { ...rest, secret };
  });
}

/** Passwords are typed by people, so they may have spaces; a short one could be guessed by strangers on the internet. */
const MIN_PASSWORD = 12;

/** Expands the password of the built-in authorization server. Throws McpxError('config') if it is too short. */
export function resolvePassword(
  { builtin: { password }, place }: Pick<GatewayOAuth, 'builtin' | 'place'>,
  given: Partial<Environment> = {},
): string | undefined {
  if (password === null) return undefined;
  const world = environmentOf(given);
  const subject = '"http.auth.oauth.builtin.password"';
  const secret = expandText(password, { subject, folder: folderOf(place, world), world });
  if (secret.length >= MIN_PASSWORD) return secret;
  const hint = 'take a longer one, for example the output of: openssl rand -base64 18';
  throw new McpxError('config', `${subject} has fewer than ${MIN_PASSWORD} characters`, { hint });
}

/** Returns the settings of OAuth with the expanded secret of introspection. Throws McpxError('config') if it is empty. */
export function resolveGatewayOAuth(oauth: GatewayOAuth, given: Partial<Environment> = {}): GatewayOAuth {
  const { clientSecret: written, ...introspection } = oauth.introspection;
  if (written === null) return oauth;
  const world = environmentOf(given);
  const subject = '"http.auth.oauth.introspection.clientSecret"';
  const clientSecret = expandText(written, { subject, folder: folderOf(oauth.place, world), world });
  if (clientSecret === '')
    throw new McpxError('config', `${subject} is empty`, { hint: 'give it a value, or remove it' });
  return { ...oauth, introspection: { ...introspection, clientSecret } };
}

/** Visible ASCII, because clients send the secret in an HTTP header. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** A launch with `own`, the variables that the entry sets itself. */
type Built = Launch & { own?: Record<string, string> };

/** Expands all placeholders first, so that every gap is known. The returned function reads env files and builds the launch. */
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

/** Keeps a bare name, which is looked up in PATH; a path is relative to the folder of the defining file. */
function resolveCommand(command: string, server: string, { world, folder }: Expander): string {
  if (command.trim() === '') {
    throw new McpxError('config', `server "${server}" has an empty command`, { hint: 'set "command" to a program' });
  }
  const isPath = world.platform === 'win32' ? /[\\/]/.test(command) : command.includes('/');
  return isPath ? absolutePath(command, folder, world) : command;
}

/** Milliseconds for which the headers of `headersHelper` are used. */
const KEEP_HEADERS = 5 * 60_000;

function buildRemote(spec: RemoteServer, expander: Expander): () => Built {
  const { text, record, world } = expander;
  const url = text(spec.url);
  const headers = record(spec.headers);
  const oauth = spec.oauth === undefined ? undefined : deep(spec.oauth, text);
  const [program, ...args] = (spec.headersHelper ?? []).map(text);
  return () => {
    // The message quotes the URL as written, because the expanded URL may hold a secret.
    if (!URL.canParse(url)) {
      const hint = 'write a complete URL, such as https://example.com/mcp';
      throw new McpxError('config', `the URL of server "${spec.name}" is not valid: "${maskText(spec.url)}"`, { hint });
    }
    // The program belongs to the user like mcpx itself, so it inherits what a keychain or a vault needs.
    const helper = program !== undefined && {
      command: resolveCommand(program, spec.name, expander),
      args,
      env: childEnv([inheritedEnv('all', world)], world),
      keep: spec.headersHelperCache ?? KEEP_HEADERS,
    };
    return { type: spec.type, url, headers, ...(helper && { helper }), ...(isRecord(oauth) ? { oauth } : {}) };
  };
}

function deep(value: unknown, text: (written: string) => string): unknown {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) return value.map((item) => deep(item, text));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, deep(item, text)]));
}
