/** The handshake and remembered facts of an upstream connection; types only. */

/** The upstream's answer to the handshake, with the detected era, transport and framing. */
export interface Handshake {
  /** The id of the connection that the handshake began; absent if the handshake was read from disk. */
  conversation?: string | undefined;
  era: 'legacy' | 'modern';
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  serverInfo: { name: string; version: string; [field: string]: unknown };
  instructions?: string;
  /** The transport that was detected for a URL without a configured type. */
  transport?: 'http' | 'sse';
  /** The detected framing; undefined for newline-delimited messages. */
  framing?: 'content-length';
}

/** Detection results that are cached: the era, the transport of a URL without a type, and the framing. */
export type Remembered = Pick<Handshake, 'era' | 'transport' | 'framing'>;
