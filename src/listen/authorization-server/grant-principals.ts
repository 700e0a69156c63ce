/** The principals of access tokens: one for each grant, the same object until its rights change. */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../bounded-map.ts';
import { sameJson } from '../../config/json-data.ts';
import type { Principal } from '../../policy/auth.ts';
import type { Credentials } from './credentials.ts';
import type { Grant } from './grant-file.ts';

export interface GrantPrincipals {
  /** Returns the principal of a grant; undefined if its token or password was removed or changed. */
  of(grant: Grant): Principal | undefined;
  /** Returns the id of the grant of a principal. */
  grantOf(principal: Principal): string | undefined;
  fingerprint(principal: Principal): string;
  /** True if there was any principal. */
  isUsed(): boolean;
}

/** More than the maximum number of grants. */
const MAX_PRINCIPALS = 1000;

/** `prefix` begins the names; tokens of the config have other names. */
export function createGrantPrincipals(credentials: () => Credentials, prefix: string): GrantPrincipals {
  const known = new BoundedMap<string, Principal>(MAX_PRINCIPALS);
  const grants = new WeakMap<Principal, Pick<Grant, 'id' | 'binding'>>();
  return {
    of(grant) {
      const credential = credentials().of(grant);
      if (credential === undefined) return undefined;
      const { rights } = credential;
      // The rights of the token may have become fewer since.
      const profiles = grant.profiles.filter((name) => rights.profiles?.includes(name) ?? true);
      const { token } = credential;
      const user = `${prefix}${token ?? 'password'}`;
      // A user cannot multiply the limits of a token by signing in with more clients.
      const next: Principal = { ...rights, name: `${user}#${grant.id}`, payer: token ?? user, profiles };
      const before = known.get(grant.id);
      const principal = before !== undefined && sameJson(before, next) ? before : next;
      known.set(grant.id, principal);
      grants.set(principal, grant);
      return principal;
    },
    isUsed: () => known.size > 0,
    grantOf: (principal) => grants.get(principal)?.id,
    fingerprint(principal) {
      const grant = grants.get(principal);
      if (grant === undefined) return '';
      const text = JSON.stringify([grant.id, grant.binding, principal]);
      return createHash('sha256').update(text).digest('base64url');
    },
  };
}
