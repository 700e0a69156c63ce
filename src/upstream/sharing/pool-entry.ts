/** One configured server of a pool with its connections, and the check if a reload can keep them. */
import { dirname } from 'node:path';
import type { ServerSpec, Settings } from '../../config/config.ts';
import { launchDigest } from '../../config/env.ts';
import { sameJson } from '../../config/json-data.ts';
import type { ClientIdentity } from '../client-identity.ts';
import type { Connection } from '../connection-interface.ts';
import type { Handshake } from '../handshake.ts';
import { createSlots, type Slots } from '../lifecycle/queue.ts';
import type { RootedConnections } from './by-roots.ts';
import { createPendingQuestions, type PendingQuestions } from './pending-questions.ts';
import { shareRule } from './sharing.ts';

/** Names of the servers that a reload added, changed and removed. */
export interface PoolChange {
  added: string[];
  changed: string[];
  removed: string[];
}

/** One configured server. */
export interface PoolEntry {
  spec: ServerSpec;
  /** Digest of launch inputs outside the config, see `launchDigest`. */
  digest: string;
  shareFor: ReturnType<typeof shareRule>;
  /** The era of the last connection, in this process or an earlier one; undefined until it is needed. */
  era: Handshake['era'] | 'unknown' | undefined;
  /** Shared connections by the key of the offered capabilities. */
  shared: Map<string, Connection>;
  /** Views on a modern server by the key of the offered capabilities. */
  views: Map<string, Connection>;
  /** Connections of single sessions by the key of the caller. */
  sessions: Map<string, Connection>;
  /** Connections for clients with roots; undefined until there is such a client. */
  rooted: RootedConnections | undefined;
  questions: PendingQuestions;
  /** Limits how many calls run at once with `share: "call"`. */
  calls: Slots;
  /** The caller that was last seen; list requests offer its capabilities. */
  seen: ClientIdentity | undefined;
  /** The open connection that was last ready. */
  current: Connection | undefined;
  /** Connections that a client has used; the others were only listed. */
  claimed: WeakSet<Connection>;
}

export function enabled(servers: readonly ServerSpec[]): ServerSpec[] {
  return servers.filter(({ disabled }) => !disabled);
}

/** Returns true if the connections of one member can serve the other; filters and descriptions do not matter. */
export function sameLaunch(one: PoolEntry, other: PoolEntry): boolean {
  return one.digest === other.digest && sameJson(launchFields(one.spec), launchFields(other.spec));
}

function launchFields({ place, tools, resources, prompts, description, title, label, ...fields }: ServerSpec): unknown {
  return { ...fields, folder: dirname(place.file) };
}

export function poolEntryOf(spec: ServerSpec, { connect }: Pick<Settings, 'connect'>): PoolEntry {
  return {
    spec,
    digest: launchDigest(spec, connect),
    shareFor: shareRule(spec),
    era: undefined,
    shared: new Map(),
    views: new Map(),
    sessions: new Map(),
    rooted: undefined,
    questions: createPendingQuestions(),
    calls: createSlots({ limit: spec.concurrency, maxWaiting: 2048, subject: `server "${spec.name}"` }),
    seen: undefined,
    current: undefined,
    claimed: new WeakSet(),
  };
}
