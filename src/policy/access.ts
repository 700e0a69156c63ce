/** Who may use what: a pure decision over server, profile and global filters. A denied thing is treated as a missing one. */
import type { Filter, Profile, ServerSpec, Settings } from '../config/config.ts';
import { matchesGlob } from './glob.ts';

export type Kind = 'tool' | 'resource' | 'prompt';

/** The true name of a thing, whatever a downstream sees. */
export interface Address {
  server: string;
  kind: Kind;
  /** A tool's or prompt's own name, a resource's own URI. */
  name: string;
}

export type Filters = Record<'tools' | 'resources' | 'prompts', Filter>;

export interface Access {
  allows(address: Address): boolean;
  /** False where nothing of a server may be used: then the server itself is as good as missing. */
  allowsServer(server: string): boolean;
  /** Whether no filter keeps anything of a server back: what has no name to be judged by may be used only then. */
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
 * A server's own filter sees the plain name. Profile, token and policy globs see `server.name` where they begin with a
 * server and a dot, as `github.create_*` and `*.drop_*` do, and the plain name otherwise, as `write_*` does.
 * Every filter must agree, and `deny` wins within each.
 */
export function createAccess({ profile, policy }: AccessRules): Access {
  const servers = new Map(profile.servers.map((server) => [server.name, server]));
  return {
    allows({ server, kind, name }) {
      const own = servers.get(server);
      if (own === undefined) return false;
      const byAddress = (pattern: string) => matchesAddress(pattern, server, name);
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

/** What a token says of servers and what they offer. */
export type TokenFilters = Filters & { servers?: string[] };

/** Access narrowed by a token's own filters. */
export function narrowAccess(access: Access, filters: TokenFilters): Access {
  const named = (server: string) => filters.servers?.some((pattern) => matchesGlob(pattern, server)) ?? true;
  return {
    allows: (address) =>
      named(address.server) &&
      access.allows(address) &&
      passes(filters[FIELD[address.kind]], (pattern) => matchesAddress(pattern, address.server, address.name)),
    allowsServer: (server) => named(server) && access.allowsServer(server) && leavesSome(filters, server),
    allowsAll: (server) => named(server) && access.allowsAll(server) && leavesAll(filters, server),
  };
}

/** Whether the filters let everything of a server through. */
function leavesAll(filters: Filters, server: string): boolean {
  return Object.values(FIELD).every((field) => {
    const { allow, deny } = filters[field];
    if (deny?.some((pattern) => reaches(pattern, server))) return false;
    return allow?.some((pattern) => covers(pattern, server)) ?? true;
  });
}

/** Whether the filters may let anything of a server through. */
function leavesSome(filters: Filters, server: string): boolean {
  return Object.values(FIELD).some((field) => {
    const { allow, deny } = filters[field];
    if (deny?.some((pattern) => covers(pattern, server))) return false;
    return allow?.some((pattern) => reaches(pattern, server)) ?? true;
  });
}

/** Whether a pattern matches everything of a server. */
function covers(pattern: string, server: string): boolean {
  return pattern === '*' || (pattern.endsWith('.*') && matchesGlob(pattern.slice(0, -2), server));
}

/** Whether a pattern may match something of a server. */
function reaches(pattern: string, server: string): boolean {
  return !QUALIFIED.test(pattern) || matchesGlob(pattern.slice(0, pattern.indexOf('.')), server);
}

/** Server names hold no dot and no colon, so a URI is never taken for a qualified name. */
const QUALIFIED = /^[\w*?-]+\./;

function matchesAddress(pattern: string, server: string, name: string): boolean {
  return matchesGlob(pattern, QUALIFIED.test(pattern) ? `${server}.${name}` : name);
}

function passes({ allow, deny }: Filter, matches: (pattern: string) => boolean): boolean {
  if (deny?.some(matches)) return false;
  return allow === undefined || allow.some(matches);
}
