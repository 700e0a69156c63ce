/** Admits a valid call: user confirmation, and limits on concurrent calls. */
import type { Tool } from '../catalog/listing.ts';
import type { Settings } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { createCounts, isWithinShare, nameOfHolder, type Shares } from '../policy/shares.ts';
import { isReadOnly } from '../render/tool-hints.ts';
import { type Asking, confirmed } from './confirmation.ts';

export interface Admission {
  /** Returns undefined if no confirmation is needed; the promise rejects with `refused`. */
  confirm(call: Asking, tool: Tool, args: unknown): Promise<void> | undefined;
  /**
   * Throws `refused` if no call may run, and `overloaded` above the limit in total, of that client or of that server.
   * Each admitted call must call `leave` once.
   */
  enter(holder: string | undefined, server: string): void;
  leave(holder: string | undefined, server: string): void;
}

export interface AdmissionOptions {
  policy: Pick<Settings['policy'], 'confirm'>;
  /** Concurrent calls of all profiles, counted per client. */
  calls: Shares;
  /** The error if no call may run at the moment. */
  refusal?: () => McpxError | undefined;
}

/** Creates the admission for the servers of one profile. */
export function createAdmission({ policy, calls, refusal }: AdmissionOptions): Admission {
  // The policy is read for each call, because the config may change at runtime.
  const servers = createCounts();
  const asks = () => policy.confirm === 'destructive';
  return {
    confirm: (call, tool, args) => (asks() && !isReadOnly(tool.annotations) ? confirmed(call, tool, args) : undefined),
    enter(holder, server) {
      const refused = refusal?.();
      if (refused !== undefined) throw refused;
      const own = calls.of(holder);
      const count = servers.of(server);
      // The client's own calls count as well, so that a server that hangs leaves room for the client's calls to other
      // servers.
      const isWithin = isWithinShare(own + count, calls.left);
      const exhausted = calls.take(holder);
      if (exhausted === 'total') throw full(calls);
      if (exhausted === 'share') throw shareFull(calls, holder ?? '');
      if (!isWithin) {
        calls.give(holder);
        // If most of the client's calls go to other servers, the client's share is exhausted and not the server's.
        throw holder !== undefined && own > 2 * count ? shareFull(calls, holder) : serverFull(server, count);
      }
      servers.add(server, 1);
    },
    leave(holder, server) {
      calls.give(holder);
      servers.add(server, -1);
    },
  };
}

/** The limit that a call exceeded, as error data for programs. */
export interface OverloadData {
  exhausted: 'client' | 'server' | 'gateway';
}

const BOUND =
  '"limits.concurrentCalls" in the config is the bound for all, and no client and no server gets more than a share of it';

function full({ limit }: Shares): McpxError {
  const data: OverloadData = { exhausted: 'gateway' };
  return new McpxError('overloaded', `${limit} calls are under way already`, {
    hint: `try again in a moment; ${BOUND}`,
    data,
  });
}

function shareFull(calls: Shares, holder: string): McpxError {
  const data: OverloadData = { exhausted: 'client' };
  const text = `${nameOfHolder(holder)} has ${calls.of(holder)} calls under way already, which is its share`;
  return new McpxError('overloaded', text, { hint: `wait until some of them have ended; ${BOUND}`, data });
}

function serverFull(server: string, count: number): McpxError {
  const data: OverloadData = { exhausted: 'server' };
  const text = `${count} calls to server "${server}" are under way already, which is its share`;
  return new McpxError('overloaded', text, { hint: `wait until some of them have ended; ${BOUND}`, data });
}

/** An admission without confirmation and without limits. */
export const ADMIT_ALL: Admission = { confirm: () => undefined, enter: () => undefined, leave: () => undefined };
