/** The interface between the listeners and the application; `src/app/app.ts` implements it. */
import type { ToolSearch } from '../catalog/search/search.ts';
import type { FrontKind, ProfileWord } from '../config/config.ts';
import type { ServerEdit } from '../config/edit.ts';
import type { ClientDeps, ClientSession, Downstream } from '../front/front-interface.ts';
import type { Reading } from '../front/savings.ts';
import type { Call, CallRecord, Happening } from '../observe/observer.ts';
import type { Family } from '../observe/prometheus.ts';
import type { Savings } from '../observe/savings-totals.ts';
import type { Principal } from '../policy/auth.ts';
import type { Router } from '../router/router.ts';
import type { ClientIdentity } from '../upstream/client-identity.ts';

export interface OpenOptions {
  profile: string;
  /** Overrides the front of the profile. */
  front?: FrontKind;
  downstream: Downstream;
  /** The authenticated client; undefined if no tokens are configured. */
  principal?: Principal | undefined;
  /**
   * The client that calls and processes are counted for, see `src/policy/shares.ts`; absent if there is only one
   * client.
   */
  holder?: string | undefined;
  /** Start of a session that began in another process, in epoch ms. */
  issued?: number | undefined;
}

/** A client on a front, which receives changes of the catalog until it is closed. */
export interface Session {
  front: ClientSession;
  close(): void;
}

/** The view of one client on a profile. */
export interface Entrance {
  router: Router;
  identity: ClientIdentity;
  search: ToolSearch;
  listed: ClientDeps['listed'];
  verify: ClientDeps['verify'];
  /** Returns the estimated tokens of the initial context, without the compact front and with it. */
  reading(): Promise<Reading>;
  close(): void;
}

export interface Gateway {
  /** The default profile, for URLs that name none. */
  readonly mainProfile: string | undefined;
  profileState(name: string): 'enabled' | 'disabled' | 'unknown';
  /** Returns the config's term for this profile; without a name, its general term. */
  profileWord(name?: string): ProfileWord;
  open(options: OpenOptions): Session;
  /** Returns true if a session that began in another process at `issued` can get the same catalog as there. */
  canResume(profile: string, issued: number): boolean;
  /** Opens a profile without a front, for one request that is not MCP. */
  enter(options: Pick<OpenOptions, 'profile' | 'principal' | 'holder'>): Entrance;
  status(principal?: Principal): Status;
  /** Sends an event to all metrics, logs and event streams. */
  emit(happening: Happening): void;
  /** Subscribes to the events that a principal may see; returns the function that unsubscribes. */
  watch(principal: Principal | undefined, hear: (event: LiveEvent) => void): () => void;
  /** Returns the Prometheus metrics of the servers that the principal may use. */
  metrics(principal?: Principal): Family[];
}

/** Changes at run time, for admin tokens; `src/app/server-edits.ts` implements it if there is a config file. */
export interface Administration {
  /** Reloads the config; rejects and keeps the old one if the new one is invalid. */
  reload(): Promise<Changes>;
  /** Changes one server in the config file and applies it; rejects and changes neither if that fails. */
  edit(edit: ServerEdit): Promise<Changes>;
}

/** The servers that a reload has changed; `restart` names settings that take effect at the next start. */
export interface Changes {
  added: string[];
  changed: string[];
  removed: string[];
  restart: string[];
}

/** A call without its arguments and result. */
export interface LiveCall extends Pick<Call, 'profile' | 'kind' | 'server' | 'name' | 'request'> {
  id: string;
  /** The start of the call; ISO 8601. */
  at: string;
  token?: string | undefined;
}

/** An event of `GET /api/events`: `type` is the name of the event, the other fields are its data. */
export type LiveEvent =
  | { type: 'call_began'; call: LiveCall }
  | { type: 'call_ended'; call: LiveCall & Pick<CallRecord, 'outcome' | 'reason' | 'ms'> }
  | Extract<Happening, { type: 'state' | 'lists' }>
  | { type: 'reload'; ok: boolean; message?: string };

/** The body of `GET /api/status`; it never contains a secret. */
export interface Status {
  name: 'mcpx';
  version: string;
  /** Seconds since the start. */
  uptime: number;
  profiles: { name: string; enabled: boolean; servers: ServerStatus[]; conflicts?: Conflict[] }[];
  calls: {
    calls: number;
    errors: number;
    /** Calls in progress, the oldest first; at most 100. */
    live: LiveCall[];
  };
  /** Savings over all runs, if totals are stored. */
  savings: Savings;
  /**
   * Problems that need a person, such as an audit log that cannot be written; only for clients that may see everything.
   */
  problems?: string[];
}

/** A name that several servers use and none gets, under `naming.onConflict: "error"`. */
export interface Conflict {
  kind: 'tool' | 'prompt';
  name: string;
  servers: string[];
}

export interface ServerStatus {
  name: string;
  title?: string;
  type: string;
  /** `disabled`, or the state of its connection: idle, connecting, ready, backoff, closed. */
  state: string;
  /** The start of the current state, if known; ISO 8601. */
  since?: string;
  /** The time of the next automatic retry; ISO 8601. */
  nextTry?: string;
  /** The reason for a failure; absent if there is none. */
  reason?: string;
  /** The state as a sentence for people. */
  sentence: string;
  /** A command or a sentence that tells how to fix a failure; absent if there is none. */
  mend?: string;
  /** The command that tests the server and shows its output; absent if there is no failure. */
  check?: string;
  tools: number;
}
