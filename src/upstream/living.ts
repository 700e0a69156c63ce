/** The transports of one upstream that have not been stopped completely: what has to be ended when the upstream is. */
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { ChildRecords } from './owners.ts';
import type { StopBounds, Transport } from './transport.ts';

export interface Living {
  add(transport: Transport): void;
  has(transport: Transport): boolean;
  /** Resolves when nothing of it is left; never rejects. */
  stop(transport: Transport, bounds: StopBounds): Promise<void>;
  stopAll(bounds: StopBounds): Promise<void>;
  killNow(): void;
}

export interface LivingOptions {
  /** The server's name, for messages. */
  name: string;
  log: Log;
  /** Where children are written down, so that they can be found should we die without ending them. */
  children?: Pick<ChildRecords, 'started' | 'ended'> | undefined;
}

export function createLiving({ name, log, children }: LivingOptions): Living {
  const alive = new Set<Transport>();

  const stop = async (transport: Transport, bounds: StopBounds) => {
    try {
      await transport.close(bounds);
    } catch (error) {
      log.debug(`stopping failed: ${messageOf(error)}`, { server: name });
    }
    if (alive.delete(transport) && transport.pid !== undefined) children?.ended(transport.pid);
  };

  return {
    add(transport) {
      alive.add(transport);
      if (transport.pid !== undefined) children?.started(transport.pid);
    },
    has: (transport) => alive.has(transport),
    stop,
    async stopAll(bounds) {
      await Promise.all([...alive].map((transport) => stop(transport, bounds)));
    },
    killNow() {
      for (const transport of alive) transport.killNow?.();
    },
  };
}
