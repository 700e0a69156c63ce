/** What stands between a call that fits and its server: confirmation, and how many run at once. */
import type { Tool } from '../catalog/list.ts';
import type { Settings } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { createCounts, isWithinShare, nameOfHolder, type Shares } from '../policy/shares.ts';
import { isReadOnly } from '../render/tool-hints.ts';
import type { Caller } from '../upstream/sharing.ts';
import { type Asking, confirmed } from './confirm.ts';
import { reasonOf } from './failures.ts';

export interface Admission {
  /** Undefined where nobody has to be asked; rejects with `refused`. */
  confirm(call: Asking, tool: Tool, args: unknown): Promise<void> | undefined;
  /** Throws `refused` where no call may run, and `overloaded` where too many calls run, in all, of that holder or to that server; a call that got in leaves once. */
  enter(holder: string | undefined, server: string): void;
  leave(holder: string | undefined, server: string): void;
}

export interface AdmissionOptions {
  policy: Pick<Settings['policy'], 'confirm'>;
  /** Calls of all profiles together, by the client that makes them. */
  calls: Shares;
  /** Why nothing may be called just now. */
  refusal?: () => McpxError | undefined;
}

/** For the servers of one profile. */
export function createAdmission({ policy, calls, refusal }: AdmissionOptions): Admission {
  // Looked at for each call: the config may change while it runs.
  const servers = createCounts();
  const asks = () => policy.confirm === 'destructive';
  return {
    confirm: (call, tool, args) => (asks() && !isReadOnly(tool.annotations) ? confirmed(call, tool, args) : undefined),
    enter(holder, server) {
      const refused = refusal?.();
      if (refused !== undefined) throw refused;
      const own = calls.of(holder);
      const count = servers.of(server);
      // The calls of its client count as well: a server that does not answer leaves room for calls of the same client to others.
      const isWithin = isWithinShare(own + count, calls.left);
      const exhausted = calls.take(holder);
      if (exhausted === 'total') throw full(calls);
      if (exhausted === 'share') throw shareFull(calls, holder ?? '');
      if (!isWithin) {
        calls.give(holder);
        // Where most of the calls of its client go elsewhere, the server is not to blame.
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

/** Whose bound a call met, for programs. */
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

/** For a router without rules of its own. */
export const ADMIT_ALL: Admission = { confirm: () => undefined, enter: () => undefined, leave: () => undefined };

/** Ends the record of a call that is held back. */
type Refused = (outcome: 'refused', end: { reason: string }) => void;

/** Waits for whoever was asked. */
export async function settled(asked: Promise<void>, record: Refused): Promise<void> {
  try {
    await asked;
  } catch (error) {
    record('refused', { reason: reasonOf(error) });
    throw error;
  }
}

/** Lets a call in, which has to leave; throws where there is no room. */
export function enter(
  admission: Pick<Admission, 'enter'>,
  { caller, server }: { caller: Pick<Caller, 'holder'>; server: string },
  record: Refused,
): void {
  try {
    admission.enter(caller.holder, server);
  } catch (error) {
    record('refused', { reason: reasonOf(error) });
    throw error;
  }
}
