/** The downstream client on whose behalf an upstream is used: a value, of which a session has a new one after each change; types only. */

export interface ClientIdentity {
  /** A key that is unique per client session. */
  readonly key: string;
  /** The name of the client's token; undefined if none is required, then all clients are one principal. */
  readonly principal?: string | undefined;
  /**
   * The holder whose share its calls and processes use, see `policy/shares.ts`; undefined if there is only one client.
   */
  readonly holder?: string | undefined;
  /** Set for a client without a session, which is new with each request. */
  readonly stateless?: true | undefined;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly clientInfo?: { readonly name: string; readonly version: string };
  /** The minimum level of log messages that the client requested; undefined if it requested none. */
  readonly logLevel?: string;
  /** The client's root URIs if they were requested; the first one is `${workspaceFolder}`. */
  readonly roots?: readonly string[];
}
