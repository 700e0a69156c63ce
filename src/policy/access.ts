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
  };
}

/** Access narrowed by a token's own filters. */
export function narrowAccess(access: Access, filters: Filters): Access {
  return {
    allows: (address) =>
      access.allows(address) &&
      passes(filters[FIELD[address.kind]], (pattern) => matchesAddress(pattern, address.server, address.name)),
  };
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
