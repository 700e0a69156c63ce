/** One configured server of a pool: its connections, and whether those of one spec serve another. */
import { dirname } from 'node:path';
import type { ServerSpec, Settings } from '../config/config.ts';
import { launchDigest } from '../config/env.ts';
import { sameJson } from '../config/json.ts';
import type { Connection, Hello } from './connection.ts';
import { createPendingQuestions, type PendingQuestions } from './pending-questions.ts';
import { createSlots, type Slots } from './queue.ts';
import type { RootedConnections } from './rooted.ts';
import { type Caller, shareRule } from './sharing.ts';

/** Names of servers, by what became of them. */
export interface PoolChange {
  added: string[];
  changed: string[];
  removed: string[];
}

/** One configured server. */
export interface Member {
  spec: ServerSpec;
  /** Of what is outside of the config, see `launchDigest`. */
  digest: string;
  shareFor: ReturnType<typeof shareRule>;
  /** As it was last spoken, in this process or an earlier one; undefined until somebody wants to know. */
  era: Hello['era'] | 'unknown' | undefined;
  /** By the set of capabilities that is offered. */
  shared: Map<string, Connection>;
  /** Of a server of the modern era, by the set of capabilities. */
  views: Map<string, Connection>;
  /** By the key of the caller. */
  sessions: Map<string, Connection>;
  /** For clients with roots; undefined until there is one. */
  rooted: RootedConnections | undefined;
  questions: PendingQuestions;
  /** For `share: "call"`: how many run at once. */
  calls: Slots;
  /** The caller whose capabilities were last seen. */
  seen: Caller | undefined;
  /** The connection that was last ready and is still there. */
  current: Connection | undefined;
  /** Connections that some caller has asked for; the others only ever listed. */
  claimed: WeakSet<Connection>;
}

export function enabled(servers: readonly ServerSpec[]): ServerSpec[] {
  return servers.filter(({ disabled }) => !disabled);
}

/** Whether the connections of one serve the other: filters and descriptions are not the connection's business. */
export function sameLaunch(one: Member, other: Member): boolean {
  return one.digest === other.digest && sameJson(launchFields(one.spec), launchFields(other.spec));
}

function launchFields({ place, tools, resources, prompts, description, title, label, ...fields }: ServerSpec): unknown {
  return { ...fields, folder: dirname(place.file) };
}

export function memberOf(spec: ServerSpec, { connect }: Pick<Settings, 'connect'>): Member {
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
