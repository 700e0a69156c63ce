/** The transports of one upstream that have not stopped completely; closing the upstream stops all of them. */
import type { ServerSpec } from '../../config/config.ts';
import { McpxError, messageOf } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import type { ChildLimit } from '../process/child-limit.ts';
import type { ChildRecords } from '../process/orphans.ts';
import type { StopBounds, Transport } from '../transports/transport.ts';

export interface OpenTransports {
  /**
   * Reserves a place in the process limit for the next transport if it is a process. Resolves with an error if there is
   * none.
   */
  reserve(signal: AbortSignal): Promise<McpxError | undefined>;
  /** Releases a reserved place that no transport has taken. */
  cancel(): void;
  add(transport: Transport): void;
  /** Called when the handshake has succeeded, possibly with another process than the first one. */
  began(transport: Transport): void;
  has(transport: Transport): boolean;
  /** Resolves when the transport has stopped completely; never rejects. */
  stop(transport: Transport, bounds: StopBounds): Promise<void>;
  stopAll(bounds: StopBounds): Promise<void>;
  killNow(): void;
}

export interface OpenTransportsOptions {
  spec: Pick<ServerSpec, 'name' | 'type'>;
  log: Log;
  /** Records child processes on disk, so that the next mcpx can end them after a crash. */
  children?: Pick<ChildRecords, 'started' | 'ended'> | undefined;
  /** Limits the number of processes. */
  childLimit?: ChildLimit | undefined;
  /** The client whose share of the process limit is used. */
  holder?: string | undefined;
}

/** Releases the place of a process. */
type GiveBack = () => void;

export function createOpenTransports({
  spec,
  log,
  children,
  childLimit,
  holder,
}: OpenTransportsOptions): OpenTransports {
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
