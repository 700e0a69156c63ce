/** What listeners need of the running program; `app/app.ts` provides it. */
import type { FrontKind } from '../config/config.ts';
import type { Downstream, Front } from '../front/front.ts';
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
}

/** `GET /api/status`; never holds a secret. */
export interface Status {
  name: 'mcpx';
  version: string;
  /** Seconds. */
  uptime: number;
  profiles: { name: string; enabled: boolean; servers: ServerStatus[] }[];
  calls: { calls: number; errors: number };
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
