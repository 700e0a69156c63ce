/** What listeners need of the running program; `app/app.ts` provides it. */
import type { FrontKind } from '../config/config.ts';
import type { Downstream, Front } from '../front/front.ts';
import type { Family } from '../observe/exposition.ts';
import type { Savings } from '../observe/ledger.ts';
import type { Call, CallRecord, Happening } from '../observe/observer.ts';
import type { Principal } from '../policy/auth.ts';

export interface OpenOptions {
  profile: string;
  /** The profile's own front where absent. */
  front?: FrontKind;
  downstream: Downstream;
  /** Who asks, where tokens are configured. */
  principal?: Principal;
}

/** A front that is told about catalog changes until it is closed. */
export interface Session {
  front: Front;
  close(): void;
}

export interface Gateway {
  /** The profile that is meant where none is named. */
  readonly mainProfile: string | undefined;
  profileState(name: string): 'enabled' | 'disabled' | 'unknown';
  open(options: OpenOptions): Session;
  status(principal?: Principal): Status;
  /** Tells everybody who counts, keeps or shows what happens. */
  emit(happening: Happening): void;
  /** Hears what that principal may know of what happens, until what it returns is called. */
  watch(principal: Principal | undefined, hear: (event: LiveEvent) => void): () => void;
  /** Numbers for Prometheus, of what that principal may use. */
  metrics(principal?: Principal): Family[];
}

/** A call, without what went in and out. */
export interface LiveCall extends Pick<Call, 'id' | 'profile' | 'kind' | 'server' | 'name' | 'request'> {
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
  /** A sentence, where something is wrong. */
  reason?: string;
  tools: number;
}
