/** Access control: a pure decision over server, profile and global filters. A denied item is treated as a missing one. */
import type { Filter, Profile, ServerSpec, Settings } from '../config/config.ts';
import { matchesGlob } from './glob.ts';

export type Kind = 'tool' | 'resource' | 'prompt';

/** The real name of an item, independent of the name that a client sees. */
export interface Address {
  server: string;
  kind: Kind;
  /** The name of the tool or prompt on its server, or the URI of the resource. */
  name: string;
}

export type Filters = Record<'tools' | 'resources' | 'prompts', Filter>;

export interface Access {
  allows(address: Address): boolean;
  /** False if nothing of a server may be used; the server is then treated as missing. */
  allowsServer(server: string): boolean;
  /**
   * True if no filter excludes anything of a server; items without a name that filters could match may be used only
   * then.
   */
  allowsAll(server: string): boolean;
}

export interface AccessRules {
  profile: Pick<Profile, 'tools' | 'resources' | 'prompts'> & { servers: (Filters & Pick<ServerSpec, 'name'>)[] };
  policy: Pick<Settings['policy'], 'deny'>;
}

const FIELD = { tool: 'tools', resource: 'resources', prompt: 'prompts' } as const satisfies Record<
  Kind,
  keyof Filters
>;

/**
 * Creates the access decision of a profile. A server's own filter is matched against the plain name. Globs of the
 * profile, a token or the policy are matched against `server.name` if they begin with a server and a dot, as
 * `github.create_*` and `*.drop_*` do, and against the plain name otherwise, as `write_*`. Every filter must allow the
 * item, and `deny` wins within each.
 */
export function createAccess({ profile, policy }: AccessRules): Access {
  const servers = new Map(profile.servers.map((server) => [server.name, server]));
  return {
    allows({ server, kind, name }) {
      const own = servers.get(server);
      if (own === undefined) return false;
      const byAddress = (pattern: string) => matchesAddress(pattern, { server, kind, name });
      return (
        !policy.deny.some(byAddress) &&
        passes(profile[FIELD[kind]], byAddress) &&
        passes(own[FIELD[kind]], (pattern) => matchesGlob(pattern, name))
      );
    },
    allowsServer: (server) =>
      servers.has(server) && !policy.deny.some((pattern) => covers(pattern, server)) && leavesSome(profile, server),
    allowsAll(server) {
      const own = servers.get(server);
      if (own === undefined || policy.deny.some((pattern) => reaches(pattern, server))) return false;
      const isOpen = Object.values(FIELD).every((field) => own[field].allow === undefined && !own[field].deny?.length);
      return isOpen && leavesAll(profile, server);
    },
  };
}

/** The filters of a token: for servers and for the items that they offer. */
export type TokenFilters = Filters & { servers?: string[] };

/** Returns the access narrowed by a token's own filters. */
export function narrowAccess(access: Access, filters: TokenFilters): Access {
  const named = (server: string) => filters.servers?.some((pattern) => matchesGlob(pattern, server)) ?? true;
  return {
    allows: (address) =>
      named(address.server) &&
      access.allows(address) &&
      passes(filters[FIELD[address.kind]], (pattern) => matchesAddress(pattern, address)),
    allowsServer: (server) => named(server) && access.allowsServer(server) && leavesSome(filters, server),
    allowsAll: (server) => named(server) && access.allowsAll(server) && leavesAll(filters, server),
  };
}

/**
 * Returns the access of a client to a profile, narrowed by the filters of its token. It follows the rules of the profile,
 * because a session may outlive a config.
 */
export function accessOf(profile: { readonly access: Access }, filters: TokenFilters | undefined): Access {
  const current: Access = {
    allows: (address) => profile.access.allows(address),
    allowsServer: (server) => profile.access.allowsServer(server),
    allowsAll: (server) => profile.access.allowsAll(server),
  };
  return filters === undefined ? current : narrowAccess(current, filters);
}

/** True if the filters allow everything of a server. */
function leavesAll(filters: Filters, server: string): boolean {
  return Object.values(FIELD).every((field) => {
    const { allow, deny } = filters[field];
    if (deny?.some((pattern) => reaches(pattern, server))) return false;
    return allow?.some((pattern) => covers(pattern, server)) ?? true;
  });
}

/** True if the filters may allow anything of a server. */
function leavesSome(filters: Filters, server: string): boolean {
  return Object.values(FIELD).some((field) => {
    const { allow, deny } = filters[field];
    if (deny?.some((pattern) => covers(pattern, server))) return false;
    return allow?.some((pattern) => reaches(pattern, server)) ?? true;
  });
}

/** True if a pattern matches everything of a server. */
function covers(pattern: string, server: string): boolean {
  return pattern === '*' || (pattern.endsWith('.*') && matchesGlob(pattern.slice(0, -2), server));
}

/** True if a pattern may match something of a server. */
function reaches(pattern: string, server: string): boolean {
  if (!QUALIFIED.test(pattern) || MAYBE_URI.test(pattern)) return true;
  return matchesGlob(pattern.slice(0, pattern.indexOf('.')), server);
}

/** Matches qualified patterns: names of servers hold no dot and no slash, in any language. */
const QUALIFIED = /^[^./\\]+\./;

/** Matches qualified patterns that may also be URIs, such as `urn:isbn.*`. */
const MAYBE_URI = /^[^.:]+:/;

function matchesAddress(pattern: string, { server, kind, name }: Address): boolean {
  if (!QUALIFIED.test(pattern)) return matchesGlob(pattern, name);
  if (matchesGlob(pattern, `${server}.${name}`)) return true;
  return kind === 'resource' && MAYBE_URI.test(pattern) && matchesGlob(pattern, name);
}

function passes({ allow, deny }: Filter, matches: (pattern: string) => boolean): boolean {
  if (deny?.some(matches)) return false;
  return allow === undefined || allow.some(matches);
}
