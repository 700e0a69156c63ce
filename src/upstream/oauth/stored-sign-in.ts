/** The sign-in to one server as the token file has it; requests read the file at most once per second. */
import type { SignIn, TokenFile } from './token-file.ts';

/** Milliseconds for which the content of the file is taken as unchanged. */
const FRESH = 1000;

export interface StoredSignIn {
  /** Reads the sign-in from the file. */
  read(): SignIn | undefined;
  /** Returns the sign-in as it was at most a second ago. */
  recent(): SignIn | undefined;
  /** Makes `recent` read the file. */
  forget(): void;
}

export function createStoredSignIn(
  tokens: Pick<TokenFile, 'find'>,
  { url, clientId }: { url: string; clientId: string | undefined },
): StoredSignIn {
  let seen: SignIn | undefined;
  let seenAt = Number.NEGATIVE_INFINITY;
  const read = () => tokens.find(url, clientId);
  return {
    read,
    recent() {
      const now = performance.now();
      if (now - seenAt >= FRESH) [seen, seenAt] = [read(), now];
      return seen;
    },
    forget() {
      seenAt = Number.NEGATIVE_INFINITY;
    },
  };
}
