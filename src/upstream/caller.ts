/** The downstream client on whose behalf an upstream is used; types only. */

/** The client session that uses an upstream. */
export interface Caller {
  /** A key that is unique per client session. */
  key: string;
  /** The name of the client's token; undefined if none is required, then all clients are one principal. */
  principal?: string | undefined;
  /**
   * The holder whose share its calls and processes use, see `policy/shares.ts`; undefined if there is only one client.
   */
  holder?: string | undefined;
  /** `request` marks a client without a session, which is new with each request. */
  stateless?: true | undefined;
  capabilities: Record<string, unknown>;
  clientInfo?: { name: string; version: string };
  /** The minimum level of log messages that the client requested; undefined if it requested none. */
  logLevel?: string;
  /** The client's root URIs if they were requested; the first one is `${workspaceFolder}`. */
  roots?: string[];
  /** The number of `notifications/roots/list_changed` that the client has sent. */
  rootsRevision?: number;
}
