/** Encrypted session ids that contain the session's parameters, so that another process can resume the session. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { FrontKind } from '../../config/config.ts';
import { createSecretKey, type SecretKey } from './secret-key.ts';

/** The parameters of a session. */
export interface Claims {
  /** Identifies the session in the list of ended sessions. */
  nonce: string;
  /** Start and expiry in epoch ms. */
  issued: number;
  expires: number;
  /** The fingerprint of the token and its rights, see `Authenticator.fingerprint`; empty without a token. */
  token: string;
  profile: string;
  /** The front that the URL selects; absent for the front of the profile. */
  front?: FrontKind | undefined;
  /** The parameters of `initialize` that are needed to resume. */
  hello: { protocolVersion: string; clientInfo?: unknown; capabilities?: unknown };
}

export interface SessionIds {
  /** Returns an id for a new session; `claims` is absent if the id is random because the parameters are too long. */
  issue(claims: Omit<Claims, 'nonce' | 'issued' | 'expires'>): { id: string; claims?: Claims };
  /** Decrypts an id; returns undefined if it is invalid or expired. */
  read(id: string): Claims | undefined;
}

/** Milliseconds after `initialize` in which another process may resume the session. */
export const LIFETIME = 7 * 24 * 60 * 60_000;
/** Maximum characters of an id; all headers of a request together may have 16 KiB. */
const MAX_ID = 4096;
const PURPOSE = 'mcpx session id';
const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const NONCE_BYTES = 12;

export function createSessionIds(secret: SecretKey = createSecretKey()): SessionIds {
  let key: Buffer | undefined;
  const keyOf = () => {
    key ??= secret.derive(PURPOSE);
    return key;
  };
  return {
    issue(about) {
      const issued = Date.now();
      const nonce = randomBytes(NONCE_BYTES).toString('base64url');
      const claims: Claims = { ...about, nonce, issued, expires: issued + LIFETIME };
      const id = encrypt(JSON.stringify(claims), keyOf());
      return id.length <= MAX_ID ? { id, claims } : { id: randomBytes(24).toString('base64url') };
    },
    read(id) {
      const text = id.length <= MAX_ID ? decrypt(id, keyOf()) : undefined;
      if (text === undefined) return undefined;
      const claims = JSON.parse(text) as Claims;
      return Date.now() < claims.expires ? claims : undefined;
    },
  };
}

function encrypt(text: string, key: Buffer): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, iv);
  const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), hidden]).toString('base64url');
}

function decrypt(id: string, key: Buffer): string | undefined {
  const bytes = Buffer.from(id, 'base64url');
  // The same bytes have several base64 spellings, but a session has one id.
  if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== id) return undefined;
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
