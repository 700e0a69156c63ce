/** The transports of one upstream that have not been stopped completely: what has to be ended when the upstream is. */
import type { ServerSpec } from '../config/config.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { ChildLimit } from './child-limit.ts';
import type { ChildRecords } from './owners.ts';
import type { StopBounds, Transport } from './transport.ts';

export interface Living {
  /** Waits for the place of one more process, where it is one; the next transport takes it. Resolves with the reason where there is none. */
  reserve(signal: AbortSignal): Promise<McpxError | undefined>;
  /** Gives back a place that no transport has taken. */
  cancel(): void;
  add(transport: Transport): void;
  /** Its conversation has begun, maybe with another process than the first. */
  began(transport: Transport): void;
  has(transport: Transport): boolean;
  /** Resolves when nothing of it is left; never rejects. */
  stop(transport: Transport, bounds: StopBounds): Promise<void>;
  stopAll(bounds: StopBounds): Promise<void>;
  killNow(): void;
}

export interface LivingOptions {
  spec: Pick<ServerSpec, 'name' | 'type'>;
  log: Log;
  /** Where children are written down, so that they can be found should we die without ending them. */
  children?: Pick<ChildRecords, 'started' | 'ended'> | undefined;
  /** Bounds how many there are. */
  childLimit?: ChildLimit | undefined;
  /** Whose share of them is used. */
  holder?: string | undefined;
}

/** Gives back the place of a process. */
type GiveBack = () => void;

export function createLiving({ spec, log, children, childLimit, holder }: LivingOptions): Living {
  const { name, type } = spec;
  const isProcess = type === 'stdio' || type === 'module';
  const alive = new Map<Transport, GiveBack | undefined>();
  const written = new Map<Transport, number>();
  let reserved: GiveBack | undefined;

  const stop = async (transport: Transport, bounds: StopBounds) => {
    try {
      await transport.close(bounds);
    } catch (error) {
      log.debug(`stopping failed: ${messageOf(error)}`, { server: name });
    }
    const giveBack = alive.get(transport);
    if (!alive.delete(transport)) return;
    forget(transport);
    giveBack?.();
  };
  const forget = (transport: Transport) => {
    const pid = written.get(transport);
    if (pid !== undefined) children?.ended(pid);
    written.delete(transport);
  };
  const writeDown = (transport: Transport) => {
    if (transport.pid === undefined || transport.pid === written.get(transport)) return;
    forget(transport);
    written.set(transport, transport.pid);
    children?.started(transport.pid);
  };

  return {
    async reserve(signal) {
      if (!isProcess || childLimit === undefined) return undefined;
      const place = await childLimit.enter(holder, name, signal);
      if (place instanceof McpxError) return place;
      reserved = place;
      return undefined;
    },
    cancel() {
      reserved?.();
      reserved = undefined;
    },
    add(transport) {
      alive.set(transport, reserved);
      reserved = undefined;
      writeDown(transport);
    },
    began: writeDown,
    has: (transport) => alive.has(transport),
    stop,
    async stopAll(bounds) {
      await Promise.all([...alive.keys()].map((transport) => stop(transport, bounds)));
    },
    killNow() {
      for (const transport of alive.keys()) transport.killNow?.();
    },
  };
}
