/** Decides which clients share a connection, and which capabilities and client info it offers. Pure. */

import { fileURLToPath } from 'node:url';
import type { ServerSpec } from '../../config/config.ts';
import { usesWorkspace } from '../../config/workspace-folder.ts';
import { OWN, ROOTS, sharedOffer } from '../../mcp/capabilities.ts';
import type { Introduction } from '../../mcp/envelope.ts';
import type { ClientIdentity } from '../client-identity.ts';
import type { Handshake } from '../handshake.ts';

/** `roots` = one connection for all clients until the server requests roots, then one per principal and roots. */
export type Share = 'all' | 'session' | 'call' | 'roots';

/**
 * Returns the sharing rule of a server; the rule runs at every call. It follows `share` in the config; by default all
 * clients share, unless the launch or the roots belong to one client. A modern server keeps no client state: it gets
 * roots with each request, if at all.
 */
export function shareRule(spec: ServerSpec): (caller: ClientIdentity, era?: Handshake['era'] | 'unknown') => Share {
  const { share } = spec;
  if (share !== undefined) return () => share;
  const own = usesWorkspace(spec);
  return ({ capabilities }, era) => {
    if (own) return 'session';
    return capabilities.roots === undefined || era === 'modern' ? 'all' : ROOTS;
  };
}

/**
 * Returns true if a server sends the same lists to every client with the same capabilities, also if a client had its
 * own connection before the era was known.
 */
export function knowsNobody(spec: ServerSpec, era: Handshake['era']): boolean {
  return shareRule(spec)({ key: '', capabilities: { [ROOTS]: {} } }, era) === 'all';
}

export function introductionOf(share: Share, caller: ClientIdentity | undefined): Introduction {
  if (caller === undefined) return { capabilities: {} };
  if (share === 'all') return { capabilities: sharedOffer(caller) };
  if (share === ROOTS) return { capabilities: { ...sharedOffer(caller), [ROOTS]: { listChanged: true } } };
  const { capabilities: all, clientInfo } = caller;
  const capabilities = Object.fromEntries(Object.entries(all).filter(([name]) => OWN.has(name)));
  if (clientInfo === undefined) return { capabilities };
  return { capabilities, clientInfo: { ...clientInfo, name: `${clientInfo.name} (via mcpx)` } };
}

/** Returns the folder of the first root; undefined if it is not a local folder. */
export function workspaceOf(caller: ClientIdentity | undefined): string | undefined {
  const root = caller?.roots?.[0];
  if (root === undefined) return undefined;
  try {
    return fileURLToPath(root);
  } catch {
    return undefined;
  }
}
