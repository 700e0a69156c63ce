/** Grants of users to clients: codes, tokens, renewal and revocation. Every change is stored before it is answered. */
import { randomBytes } from 'node:crypto';
import type { Log } from '../../observe/log.ts';
import {
  type CodeExchange,
  type ExchangeRules,
  exchangeCode,
  exchangeRefresh,
  type Renewal,
  type Step,
  unknownCode,
  unknownGrant,
} from './grant-exchange.ts';
import type { Grant, GrantFile, Grants, TokenPair } from './grant-file.ts';
import { OAuthProblem } from './oauth-problem.ts';
import { hashOf, type IssuedTokens, isCurrent, randomToken } from './token-pairs.ts';

/** The decision of a user, from which a grant begins. */
export type Consent = Pick<Grant, 'client' | 'token' | 'binding' | 'profiles' | 'resource' | 'form'> &
  Pick<Grant['code'], 'redirectUri' | 'challenge'>;

export interface IssuedGrant {
  tokens: IssuedTokens;
  grant: Grant;
}

export interface GrantStore {
  /** Stores a grant and returns it with its authorization code. */
  agree(consent: Consent): Promise<{ code: string; grant: Grant }>;
  /** Exchanges a code for tokens. A code that comes twice ends its grant. */
  redeem(code: string, asked: CodeExchange): Promise<IssuedGrant>;
  /** Exchanges a refresh token. If it was exchanged before and its successor is in use, the grant ends. */
  renew(refresh: string, asked: Renewal): Promise<IssuedGrant>;
  /** Ends the grant of an access or refresh token, if it belongs to the client. */
  revoke(token: string, clientId: string): Promise<void>;
  /** Returns the grant of a valid access token. */
  find(access: string): Grant | undefined;
  /** Returns a grant by its id, unless it has expired. */
  byId(id: string): Grant | undefined;
  /** Ends grants. */
  end(ids: readonly string[]): Promise<void>;
}

export interface GrantOptions extends ExchangeRules {
  file: GrantFile;
  log: Pick<Log, 'warn' | 'debug'>;
}

/** Milliseconds in which a code has to be exchanged. */
const CODE_LIFETIME = 60_000;
const MAX_GRANTS = 500;

export function createGrantStore(options: GrantOptions): GrantStore {
  const { file, log, now } = options;
  const find = createLookup(file);
  const isAlive = (grant: Grant) => now() < grant.expires;
  const confirm = createConfirmation(options);

  /** Changes one grant; the edit returns undefined to end it. */
  const edit = (id: string, change: (grant: Grant) => Grant | undefined) =>
    file.change((all) => ({
      ...all,
      grants: all.grants.flatMap((grant) => (grant.id === id ? (change(grant) ?? []) : [grant])),
    }));

  const issue = async (id: string, next: (grant: Grant) => Step): Promise<IssuedGrant> => {
    let step: Step = { refused: unknownGrant() };
    await edit(id, (grant) => {
      step = next(grant);
      if ('tokens' in step) return step.grant;
      return step.ends ? undefined : grant;
    });
    return settle(step, id, log);
  };

  return {
    async agree(consent) {
      const code = randomToken('mcpx_code_');
      const { redirectUri, challenge, ...about } = consent;
      const time = now();
      const expires = time + CODE_LIFETIME;
      const grant: Grant = {
        ...about,
        id: randomBytes(5).toString('hex'),
        ...{ created: time, renewed: time, expires },
        code: { hash: hashOf(code), issued: time, expires, redirectUri, challenge },
        pairs: [],
      };
      await file.change((all) => withGrant(all, grant, time));
      return { code, grant };
    },
    async redeem(code, asked) {
      const hash = hashOf(code);
      const known = file.read().grants.find((grant) => grant.code.hash === hash);
      if (known === undefined) throw unknownCode();
      return issue(known.id, (grant) => exchangeCode(grant, asked, options));
    },
    async renew(refresh, asked) {
      const known = find.byRefresh(hashOf(refresh));
      if (known === undefined) throw unknownGrant();
      return issue(known.id, (grant) => exchangeRefresh(grant, refresh, asked, options));
    },
    async revoke(token, clientId) {
      const hash = hashOf(token);
      const known = find.byAccess(hash)?.grant ?? find.byRefresh(hash);
      if (known !== undefined && known.client.id === clientId) await edit(known.id, () => undefined);
    },
    find(access) {
      const found = find.byAccess(hashOf(access));
      if (found === undefined || !isCurrent(found.pair, now()) || !isAlive(found.grant)) return undefined;
      confirm(found.grant, found.pair);
      return found.grant;
    },
    byId: (id) => file.read().grants.find((grant) => grant.id === id && isAlive(grant)),
    async end(ids) {
      const { grants } = file.read();
      if (!grants.some(({ id }) => ids.includes(id))) return;
      await file.change((all) => ({ ...all, grants: all.grants.filter(({ id }) => !ids.includes(id)) }));
    },
  };
}

function settle(step: Step, id: string, log: Pick<Log, 'warn'>): IssuedGrant {
  if ('tokens' in step) return step;
  if (step.ends !== undefined) log.warn(`grant ${id} of an OAuth client has ended: ${step.ends}`);
  throw step.refused;
}

/** Adds a grant, without expired ones; beyond the limit, those that were not renewed for longest are dropped. */
function withGrant({ clients, grants }: Grants, grant: Grant, now: number): Grants {
  if (grants.some(({ form }) => form === grant.form))
    throw new OAuthProblem('invalid_request', 'this form was answered before');
  const alive = grants.filter(({ expires }) => now < expires).sort((a, b) => a.renewed - b.renewed);
  const used = clients.map((client) => (client.id === grant.client.id ? { ...client, used: now } : client));
  return { version: 1, clients: used, grants: [...alive.slice(-(MAX_GRANTS - 1)), grant] };
}

interface Lookup {
  byAccess(hash: string): { grant: Grant; pair: TokenPair } | undefined;
  byRefresh(hash: string): Grant | undefined;
}

/** Finds grants by the hashes of their tokens; the tables are built again when the file has changed. */
function createLookup(file: Pick<GrantFile, 'read'>): Lookup {
  let of: Grants | undefined;
  const access = new Map<string, { grant: Grant; pair: TokenPair }>();
  const refresh = new Map<string, Grant>();
  const fresh = () => {
    const content = file.read();
    if (content === of) return;
    of = content;
    access.clear();
    refresh.clear();
    for (const grant of content.grants) {
      for (const pair of grant.pairs) {
        access.set(pair.access, { grant, pair });
        refresh.set(pair.refresh, grant);
      }
    }
  };
  return {
    byAccess(hash) {
      fresh();
      return access.get(hash);
    },
    byRefresh(hash) {
      fresh();
      return refresh.get(hash);
    },
  };
}

/**
 * Records the first use of an access token. From then on the client has certainly received it, so the refresh token
 * before it is no longer accepted.
 */
function createConfirmation({ file, log }: Pick<GrantOptions, 'file' | 'log'>) {
  const begun = new Set<string>();
  return ({ id, pairs }: Grant, { access, from, used }: TokenPair) => {
    const isFirst = from === undefined || !pairs.some(({ refresh }) => refresh === from);
    if (used || isFirst || begun.has(access)) return;
    begun.add(access);
    const mark = (pair: TokenPair) => (pair.access === access ? { ...pair, used: true as const } : pair);
    file
      .change((all) => ({
        ...all,
        grants: all.grants.map((grant) => (grant.id === id ? { ...grant, pairs: grant.pairs.map(mark) } : grant)),
      }))
      .catch((error: Error) => log.debug(`the use of a token of grant ${id} was not recorded: ${error.message}`))
      .finally(() => begun.delete(access));
  };
}
