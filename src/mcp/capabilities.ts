/** Client capabilities that mcpx offers to servers, and the keys that identify a set of them. */
import { isRecord } from '../wire/message.ts';

/** A client that has declared capabilities. */
interface Declared {
  capabilities: Record<string, unknown>;
}

/**
 * The capabilities that a shared connection may offer, with their known members; other members are specific to one
 * client.
 */
export const SHARED = new Map([
  ['elicitation', ['form', 'url']],
  ['sampling', ['context', 'tools']],
]);

/** Roots are not shared: a server that gets one client's roots may apply them to all clients. */
export const ROOTS = 'roots';

export const OWN = new Set([...SHARED.keys(), ROOTS]);

/** Returns a key for the capabilities that a caller offers: a server may list other tools for other capabilities. */
export function offeredKey(caller: Declared): string {
  const { elicitation, sampling, roots } = caller.capabilities;
  // This runs at every call, and most clients have none of these capabilities.
  if (elicitation === undefined && sampling === undefined) return roots === undefined ? '' : ROOTS;
  const names = Object.entries(sharedOffer(caller)).map(([name, parts]) => [name, ...Object.keys(parts)].join('.'));
  return [...names, ...(roots === undefined ? [] : [ROOTS])].join('+');
}

/** Returns the key that a shared connection has: without roots, because its clients may have different roots. */
export function sharedKey(key: string): string {
  // This runs at every call.
  return key === '' ? key : key.replace(/(^|\+)roots$/, '');
}

export function sharedOffer({ capabilities }: Declared): Record<string, Record<string, unknown>> {
  const offer: Record<string, Record<string, unknown>> = {};
  for (const [name, known] of SHARED) {
    const given = capabilities[name];
    if (!isRecord(given)) continue;
    offer[name] = Object.fromEntries(known.filter((part) => given[part] !== undefined).map((part) => [part, {}]));
  }
  return offer;
}
