/** The clients and grants of the built-in authorization server: `~/.mcpx/grants.json`, or memory only. It holds hashes, no token. */
import { McpxError } from '../../errors.ts';
import { createPrivateFile, type PrivateFile } from '../../private-file.ts';

/** A client that registered itself. */
export interface RegisteredClient {
  id: string;
  name: string;
  redirectUris: string[];
  registered: number;
  /** The last time that a user signed in with this client; absent if none ever did. */
  used?: number;
}

/** An access token and the refresh token that was issued with it, as SHA-256. Times are in ms since 1970. */
export interface TokenPair {
  access: string;
  refresh: string;
  issued: number;
  accessExpires: number;
  /** The refresh token for which this pair was issued; absent for the first pair. */
  from?: string;
  /** True if the client has used one of both, so it has received them. */
  used?: true;
  /** The time when the refresh token was exchanged. */
  spent?: number;
}

export interface AuthorizationCode {
  hash: string;
  issued: number;
  expires: number;
  redirectUri: string;
  /** The PKCE challenge, method S256. */
  challenge: string;
  spent?: true;
}

/** The permission that a user gave to a client. */
export interface Grant {
  id: string;
  client: { id: string; name: string; redirectHost: string };
  /** The name of the configured token that the user entered; null for the password. */
  token: string | null;
  /** Changes with the secret of that token or password. */
  binding: string;
  profiles: string[];
  /** The URL that the client asked for. */
  resource: string;
  /** The form by which the user agreed; each is accepted once. */
  form: string;
  created: number;
  /** The last sign-in or renewal. */
  renewed: number;
  /** The time at which the grant ends unless it is renewed. */
  expires: number;
  code: AuthorizationCode;
  pairs: TokenPair[];
}

export interface Grants {
  version: 1;
  clients: RegisteredClient[];
  grants: Grant[];
}

export type GrantFile = PrivateFile<Grants>;

const EMPTY: Grants = { version: 1, clients: [], grants: [] };

/** Opens the file; without one, the grants are lost when the process ends. */
export function createGrantFile(file: string | undefined, warn: (message: string) => void): GrantFile {
  if (file === undefined) return inMemory();
  const remedy = 'Clients of the gateway have to sign in again';
  return createPrivateFile({ file, parse, empty: EMPTY, remedy, warn });
}

function inMemory(): GrantFile {
  let content = EMPTY;
  return {
    read: () => content,
    async change(edit) {
      content = edit(content);
      return content;
    },
  };
}

function parse(value: unknown): Grants {
  const { clients, grants } = (value ?? {}) as Partial<Record<keyof Grants, unknown>>;
  if (!Array.isArray(clients) || !Array.isArray(grants)) throw new McpxError('config', 'it has no lists of grants');
  return { version: 1, clients: clients.filter(isClient), grants: grants.filter(isGrant) };
}

function isClient(value: unknown): value is RegisteredClient {
  const one = value as Partial<RegisteredClient> | null;
  return areTexts(one?.id, one?.name, ...(one?.redirectUris ?? [null])) && areNumbers(one?.registered);
}

function isGrant(value: unknown): value is Grant {
  const one = value as Partial<Grant> | null;
  const { client, code, pairs, profiles } = one ?? {};
  const texts = [one?.id, one?.binding, one?.resource, one?.form, client?.id, client?.name, client?.redirectHost];
  return (
    areTexts(...texts, code?.hash, code?.redirectUri, code?.challenge, one?.token ?? '') &&
    areNumbers(one?.created, one?.renewed, one?.expires, code?.issued, code?.expires) &&
    Array.isArray(profiles) &&
    areTexts(...profiles) &&
    Array.isArray(pairs) &&
    pairs.every(isPair)
  );
}

function isPair(value: unknown): value is TokenPair {
  const one = value as Partial<TokenPair> | null;
  return areTexts(one?.access, one?.refresh) && areNumbers(one?.issued, one?.accessExpires);
}

const areTexts = (...values: unknown[]) => values.every((value) => typeof value === 'string');
const areNumbers = (...values: unknown[]) => values.every((value) => typeof value === 'number');
