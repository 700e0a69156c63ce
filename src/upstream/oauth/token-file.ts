/** The file with the sign-ins of this user (`~/.mcpx/tokens.json`, mode 0600): read often, changed under a lock. */
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { McpxError, messageOf, toMcpxError } from '../../errors.ts';
import { codeOf, withLock } from '../../files.ts';
import type { Log } from '../../observe/log.ts';
import { createPrivateFile } from '../../private-file.ts';

/** How mcpx is known to an authorization server. */
export interface StoredClient {
  id: string;
  secret?: string;
  /** The method with which the client authenticates at the token endpoint. */
  auth: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
  /** True if mcpx registered this client itself; then it is reused with this redirect URI. */
  registered?: boolean;
  redirectUri?: string;
  /** The scopes for which it was registered; undefined for any. */
  scope?: string;
  /**
   * True if a sign-in with it has begun and not ended, or the authorization server refused it: that server may have
   * forgotten it, so the next sign-in registers another one.
   */
  doubtful?: boolean;
}

export interface StoredTokens {
  access: string;
  refresh?: string;
  /** Time of expiry in ms since 1970; undefined if the server named none. */
  expiresAt?: number;
  scope?: string;
}

/** One sign-in. `issuer`, `resource` and `client.id` together are its key. */
export interface SignIn {
  issuer: string;
  resource: string;
  client: StoredClient;
  /** The endpoints for refresh and revocation, so that neither needs discovery. */
  tokenEndpoint: string;
  revocationEndpoint?: string;
  /** Undefined if the user signed out or the refresh token was refused; then the registered client is kept. */
  tokens?: StoredTokens;
  /** Why there are no tokens, for messages. */
  ended?: string;
}

export interface TokenFile {
  /** Returns the sign-in whose resource contains the URL, of the configured client if there is one; one with tokens wins. */
  find(url: string, clientId?: string): SignIn | undefined;
  /** Returns all sign-ins. Throws McpxError if the file cannot be read. */
  all(): SignIn[];
  /** Stores a sign-in under its key and leaves all others as they are. */
  put(signIn: SignIn): Promise<void>;
  /** Returns true if a sign-in is in the file, so that it outlasts this process. */
  isStored(signIn: SignIn): boolean;
  /** Marks the client of the sign-ins for a URL as doubtful; a completed sign-in stores it without the mark. */
  doubt(url: string, client: StoredClient): Promise<void>;
  /** Removes a sign-in. */
  remove(signIn: SignIn): Promise<void>;
  /** Runs an action that no other process runs at the same time for this sign-in. */
  exclusive<T>(signIn: SignIn, action: () => Promise<T>): Promise<T>;
}

/** Milliseconds that a process waits for the refresh of another one. */
const LOCK_WAIT = 60_000;

export function createTokenFile(file: string, log: Pick<Log, 'warn' | 'debug'>): TokenFile {
  const stored = createPrivateFile<Stored>({
    ...{ file, parse, empty: { version: 1, signIns: [] } },
    remedy: 'Sign in again with mcpx login',
    warn: (message) => log.warn(message),
  });
  /** Sign-ins that could not be written: this process keeps them, so that a call still works. */
  const unwritten = new Map<string, SignIn>();

  const change = (edit: (current: SignIn[]) => SignIn[]) =>
    stored.change(({ signIns }) => ({ version: 1, signIns: edit(signIns) }));

  const replace = (signIn: SignIn) => (current: SignIn[]) => [
    ...current.filter((other) => keyOf(other) !== keyOf(signIn) && !isRenewed(other, signIn)),
    signIn,
  ];

  const withUnwritten = (signIns: SignIn[]) =>
    unwritten.size === 0 ? signIns : [...unwritten.values()].reduce((list, one) => replace(one)(list), signIns);

  let told: string | undefined;
  /** Returns no sign-in if the file cannot be read: servers that need none must keep working. */
  const readOrNone = (): SignIn[] => {
    try {
      const { signIns } = stored.read();
      told = undefined;
      return signIns;
    } catch (error) {
      const { message, hint } = toMcpxError(error);
      if (told !== message) log.warn(`${message}, so nobody is signed in: ${hint}`);
      told = message;
      return [];
    }
  };

  return {
    all: () => withUnwritten(stored.read().signIns),
    find(url, clientId) {
      const fitting = withUnwritten(readOrNone()).filter(
        ({ resource, client }) => contains(resource, url) && (clientId === undefined || client.id === clientId),
      );
      // The most specific resource wins, then the newest sign-in.
      fitting.sort((a, b) => a.resource.length - b.resource.length);
      return fitting.findLast(({ tokens }) => tokens !== undefined) ?? fitting.at(-1);
    },
    async put(signIn) {
      try {
        await change(replace(signIn));
        unwritten.delete(keyOf(signIn));
      } catch (error) {
        if (!unwritten.has(keyOf(signIn))) log.warn(notWritten(file, error));
        unwritten.set(keyOf(signIn), signIn);
      }
    },
    isStored: (signIn) => !unwritten.has(keyOf(signIn)),
    async doubt(url, client) {
      const isMeant = (one: SignIn) => contains(one.resource, url) && one.client.id === client.id;
      const marked = (one: SignIn): SignIn => ({ ...one, client: { ...one.client, doubtful: true } });
      try {
        await change((current) => current.map((one) => (isMeant(one) ? marked(one) : one)));
      } catch (error) {
        // The sign-in goes on; its end reports a file that cannot be written.
        log.debug(`the client of a sign-in was not marked: ${messageOf(error)}`);
      }
    },
    async remove(signIn) {
      unwritten.delete(keyOf(signIn));
      await change((current) => current.filter((other) => keyOf(other) !== keyOf(signIn)));
    },
    async exclusive(signIn, action) {
      let isLocked = false;
      const work = () => {
        isLocked = true;
        return action();
      };
      try {
        return await withLock(lockName(file, signIn), work, { wait: LOCK_WAIT });
      } catch (error) {
        throw isLocked || error instanceof McpxError ? error : notLocked(file, error);
      }
    },
  };
}

/** Returns true if a URL belongs to a resource: the same origin, and the same path or one below it. */
export function contains(resource: string, url: string): boolean {
  if (!URL.canParse(resource) || !URL.canParse(url)) return false;
  const [outer, inner] = [new URL(resource), new URL(url)];
  const folder = outer.pathname.endsWith('/') ? outer.pathname : `${outer.pathname}/`;
  return outer.origin === inner.origin && `${inner.pathname}/`.startsWith(folder);
}

/** Returns the key of a sign-in. */
export function keyOf({ issuer, resource, client }: SignIn): string {
  return JSON.stringify([issuer, resource, client.id]);
}

/** True if mcpx registered another client for the same server meanwhile, for other scopes or another redirect URI. */
function isRenewed(older: SignIn, newer: SignIn): boolean {
  const [known, next] = [older.client.registered, newer.client.registered];
  return known === true && next === true && older.issuer === newer.issuer && older.resource === newer.resource;
}

/** Each sign-in has its own lock: a slow authorization server delays nobody else. */
function lockName(file: string, signIn: SignIn): string {
  const digest = createHash('sha256').update(keyOf(signIn)).digest('hex').slice(0, 16);
  return join(dirname(file), 'tokens', digest);
}

/** Tokens that could not be stored would be lost, and the old refresh token with them, so they are not renewed at all. */
function notLocked(file: string, error: unknown): McpxError {
  const message = `sign-ins cannot be renewed, because "${dirname(file)}" cannot be written (${codeOf(error) ?? messageOf(error)})`;
  return new McpxError('failed', message, { hint: 'make the folder writable for this user', cause: error });
}

function notWritten(file: string, error: unknown): string {
  return `the sign-in cannot be stored in "${file}" (${codeOf(error) ?? messageOf(error)}): it ends with this process. Make the file writable and run mcpx login again`;
}

interface Stored {
  version: 1;
  signIns: SignIn[];
}

function parse(value: unknown): Stored {
  const { signIns } = value as Partial<Stored>;
  if (!Array.isArray(signIns)) throw new McpxError('config', 'it has no list of sign-ins');
  return { version: 1, signIns: signIns.filter(isSignIn) };
}

function isSignIn(value: unknown): value is SignIn {
  const one = value as Partial<SignIn> | null;
  const texts = [one?.issuer, one?.resource, one?.tokenEndpoint, one?.client?.id];
  const tokens = one?.tokens;
  return texts.every((text) => typeof text === 'string') && (tokens === undefined || typeof tokens.access === 'string');
}
