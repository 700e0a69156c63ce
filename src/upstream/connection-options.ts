/** Options with which a connection is created; types only. */
import type { ServerSpec, Settings } from '../config/config.ts';
import type { Introduction } from '../mcp/envelope.ts';
import type { Log } from '../observe/log.ts';
import type { Connection } from './connection-interface.ts';
import type { Remembered } from './handshake.ts';
import type { Authorize } from './http/authorization.ts';
import type { ListingLimit } from './lifecycle/listing-limit.ts';
import type { Slots } from './lifecycle/queue.ts';
import type { ChildLimit } from './process/child-limit.ts';
import type { ChildRecords } from './process/orphans.ts';
import type { UpstreamEvents } from './upstream-events.ts';

export interface ConnectionOptions {
  spec: ServerSpec;
  settings: Pick<Settings, 'connect' | 'limits' | 'health'> & Partial<Pick<Settings, 'offline'>>;
  log: Log;
  events?: UpstreamEvents | undefined;
  /** Limits how many upstreams start at once; shared by all connections. */
  starts?: Slots;
  /** The client info and capabilities sent in the handshake (default: mcpx without any capability). */
  introduction?: Introduction | undefined;
  /** Returns the cached detection results of the server; called only before its first connect. */
  recall?: ((spec: ServerSpec) => Remembered | undefined) | undefined;
  /** The value of `${workspaceFolder}` (default: the working directory). */
  workspaceFolder?: string | undefined;
  /** Receives every line that the process writes to stderr. */
  stderr?: ((line: string) => void) | undefined;
  /** The key of the only caller that this connection serves. */
  owner?: string | undefined;
  /** The client capabilities that this connection offers to the server (default: none). */
  offered?: string | undefined;
  /** Records the running processes on disk. */
  children?: Pick<ChildRecords, 'started' | 'ended'> | undefined;
  /** Limits how many processes run at once; shared by all upstreams. */
  childLimit?: ChildLimit | undefined;
  /** Limits how many servers run only to be listed; shared by all upstreams. */
  places?: ListingLimit | undefined;
  /** Returns true if a client is subscribed to a resource on the connection (default: none is). */
  isSubscribed?: ((connection: Connection) => boolean) | undefined;
  /** The client whose share of the process limit is used; undefined if several clients share the connection. */
  holder?: string | undefined;
  /** Creates the credentials of servers with a URL (default: the configured headers). */
  authorize?: Authorize | undefined;
  /** Set when a user waits in a shell: receives slow-start lines, and calls wait for the whole download. */
  attended?: ((line: string) => void) | undefined;
}
