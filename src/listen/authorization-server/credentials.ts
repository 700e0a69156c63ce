/** The secrets that a user may enter on the consent page: the tokens of the config, and the password. */
import { createHmac } from 'node:crypto';
import type { Token } from '../../config/config.ts';
import { digestOf, findBySecret } from '../../policy/secret-digest.ts';

type Rights = Omit<Token, 'token' | 'name' | 'place'>;

export interface Credential {
  /** The name of the token; null for the password. */
  token: string | null;
  /** Changes with the secret. It is stored, so it is keyed: the file alone does not help to guess a password. */
  binding: string;
  rights: Rights;
}

export interface Credentials {
  /** Returns the credential that a user has entered. */
  match(entered: string): Credential | undefined;
  /** Returns the credential of a grant, if it is still configured with the same secret. */
  of(grant: Pick<Credential, 'token' | 'binding'>): Credential | undefined;
}

export interface CredentialOptions {
  tokens: readonly (Omit<Token, 'token'> & { secret: string })[];
  password: string | undefined;
  /** The key for `binding`. */
  key: Buffer;
}

/** The password allows every profile and no administration. */
const PASSWORD_RIGHTS: Rights = { tools: {}, resources: {}, prompts: {}, admin: false };

export function createCredentials({ tokens, password, key }: CredentialOptions): Credentials {
  const bind = (secret: string) => createHmac('sha256', key).update(secret).digest('base64url');
  const known = tokens.map(({ secret, name, place: _, ...rights }) => ({
    credential: { token: name, binding: bind(secret), rights: { ...rights, admin: false } } as Credential,
    digest: digestOf(secret),
  }));
  if (password !== undefined) {
    const credential = { token: null, binding: bind(password), rights: PASSWORD_RIGHTS };
    known.push({ credential, digest: digestOf(password) });
  }
  return {
    match: (entered) => findBySecret(known, entered)?.credential,
    of: ({ token, binding }) =>
      known.find(({ credential }) => credential.token === token && credential.binding === binding)?.credential,
  };
}
