/** What listeners need of the running program; `app/app.ts` provides it. */
import type { ToolSearch } from '../catalog/search.ts';
import type { FrontKind, ProfileWord } from '../config/config.ts';
import type { ServerEdit } from '../config/edit.ts';
import type { Downstream, Front, FrontDeps } from '../front/front.ts';
import type { Reading } from '../front/meter.ts';
import type { Family } from '../observe/exposition.ts';
import type { Savings } from '../observe/ledger.ts';
import type { Call, CallRecord, Happening } from '../observe/observer.ts';
import type { Principal } from '../policy/auth.ts';
import type { Router } from '../router/router.ts';
import type { Caller } from '../upstream/pool.ts';

export interface OpenOptions {
  profile: string;
  /** The profile's own front where absent. */
  front?: FrontKind;
  downstream: Downstream;
  /** Who asks, where tokens are configured. */
  principal?: Principal | undefined;
  /** Whose share its calls and its processes count towards, see `policy/shares.ts`; absent where there is only one client. */
  holder?: string | undefined;
  /** When its session began, where that was in another process; epoch ms. */
  issued?: number | undefined;
}

/** A front that is told about catalog changes until it is closed. */
export interface Session {
  front: Front;
  close(): void;
}

/** A caller of a profile, and what it may see and do there. */
export interface Entrance {
  router: Router;
  caller: Caller;
  search: ToolSearch;
  listed: FrontDeps['listed'];
  verify: FrontDeps['verify'];
  /** What a client reads before the first question, without the compact front and with it. */
  reading(): Reading;
  close(): void;
}

export interface Gateway {
  /** The profile that is meant where none is named. */
  readonly mainProfile: string | undefined;
  profileState(name: string): 'enabled' | 'disabled' | 'unknown';
  /** How the config calls this profile; without a name, how it calls any. */
  profileWord(name?: string): ProfileWord;
  open(options: OpenOptions): Session;
  /** Whether a session that began then, in another process, can be held to what it was shown there. */
  canResume(profile: string, issued: number): boolean;
  /** The same without a front, for one request that is no MCP. */
  enter(options: Pick<OpenOptions, 'profile' | 'principal' | 'holder'>): Entrance;
  status(principal?: Principal): Status;
  /** Tells everybody who counts, keeps or shows what happens. */
  emit(happening: Happening): void;
  /** Hears what that principal may know of what happens, until what it returns is called. */
  watch(principal: Principal | undefined, hear: (event: LiveEvent) => void): () => void;
  /** Numbers for Prometheus, of what that principal may use. */
  metrics(principal?: Principal): Family[];
}

/** Changes at run time, for admin tokens; `app/admin.ts` provides it where there is a config file. */
export interface Administration {
  /** Reads the config again; rejects, and the old one stays, where it cannot be used. */
  reload(): Promise<Changes>;
  /** Changes one server in the file and applies it; rejects, and leaves both as they were, where that cannot be done. */
  edit(edit: ServerEdit): Promise<Changes>;
}

/** What became of servers; `restart` names settings that are looked at again at the next start. */
export interface Changes {
  added: string[];
  changed: string[];
  removed: string[];
  restart: string[];
}

/** A call, without what went in and out. */
export interface LiveCall extends Pick<Call, 'profile' | 'kind' | 'server' | 'name' | 'request'> {
  id: string;
  /** When it began; ISO 8601. */
  at: string;
  token?: string | undefined;
}

/** `GET /api/events`: the type is the name of the event, the rest its data. */
export type LiveEvent =
  | { type: 'call_began'; call: LiveCall }
  | { type: 'call_ended'; call: LiveCall & Pick<CallRecord, 'outcome' | 'reason' | 'ms'> }
  | Extract<Happening, { type: 'state' | 'lists' }>
  | { type: 'reload'; ok: boolean; message?: string };

/** `GET /api/status`; never holds a secret. */
export interface Status {
  name: 'mcpx';
  version: string;
  /** Seconds. */
  uptime: number;
  profiles: { name: string; enabled: boolean; servers: ServerStatus[]; conflicts?: Conflict[] }[];
  calls: {
    calls: number;
    errors: number;
    /** Under way just now, the oldest first; at most 100. */
    live: LiveCall[];
  };
  /** Over all runs, where counts are kept. */
  savings: Savings;
  /** Problems that a person has to repair, such as an audit log that cannot be written; only for those who see everything. */
  problems?: string[];
}

/** A name that several servers want and none gets, under `naming.onConflict: "error"`. */
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
  /** Since when it is in that state, where known; ISO 8601. */
  since?: string;
  /** When it will be tried again by itself; ISO 8601. */
  nextTry?: string;
  /** Why, where something is wrong. */
  reason?: string;
  /** The state as a sentence for people. */
  sentence: string;
  /** A command or a sentence that says how it is mended, where something is wrong. */
  mend?: string;
  /** The command that tries it and shows what it says, where something is wrong. */
  check?: string;
  tools: number;
}
