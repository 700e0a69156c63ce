/** Who may use what: a pure decision over server, profile and global filters. A denied thing is treated as a missing one. */
import type { Filter, Profile, ServerSpec, Settings } from '../config/config.ts';
import { matchesAny } from './glob.ts';

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
 * A server's own filter sees the plain name; profile and policy globs see `server.name`, as in `github.create_*`.
 * Every filter must agree, and `deny` wins within each.
 */
export function createAccess({ profile, policy }: AccessRules): Access {
  const servers = new Map(profile.servers.map((server) => [server.name, server]));
  return {
    allows({ server, kind, name }) {
      const own = servers.get(server);
      if (own === undefined) return false;
      const full = `${server}.${name}`;
      return !matchesAny(policy.deny, full) && passes(profile[FIELD[kind]], full) && passes(own[FIELD[kind]], name);
    },
  };
}

/** Access narrowed by a token's own filters. */
export function narrowAccess(access: Access, filters: Filters): Access {
  return {
    allows: (address) =>
      access.allows(address) && passes(filters[FIELD[address.kind]], `${address.server}.${address.name}`),
  };
}

function passes({ allow, deny }: Filter, name: string): boolean {
  if (deny !== undefined && matchesAny(deny, name)) return false;
  return allow === undefined || matchesAny(allow, name);
}
