/** Who shares a connection with whom, and as whom mcpx introduces itself on it. Pure. */
import { fileURLToPath } from 'node:url';
import type { ServerSpec } from '../config/config.ts';
import { worldOf } from '../config/world.ts';
import { isRecord } from '../wire/message.ts';
import type { Hello } from './connection.ts';
import type { Introduction } from './era.ts';

/** The downstream on whose behalf an upstream is used. */
export interface Caller {
  /** Unique per downstream session. */
  key: string;
  /** The name of its token; undefined where none is required, and then all clients are one principal. */
  principal?: string | undefined;
  /** Whose share its calls and its processes count towards, see `policy/shares.ts`; absent where there is only one client. */
  holder?: string | undefined;
  /** A client without a session, which begins anew with each request. */
  lasts?: 'request' | undefined;
  capabilities: Record<string, unknown>;
  clientInfo?: { name: string; version: string };
  /** The least important log messages that it wants, where it said so. */
  logLevel?: string;
  /** URIs of its roots, where it was asked for them; the first one is `${workspaceFolder}`. */
  roots?: string[];
  /** How often it has said that its roots changed. */
  rootsRevision?: number;
}

/** `roots` = one for all as long as the server does not ask for roots, else one for all of a principal who have the same roots. */
export type Share = 'all' | 'session' | 'call' | 'roots';

/** What a shared connection may offer, with its known parts: other members of a capability are one downstream's own. */
const SHARED = new Map([
  ['elicitation', ['form', 'url']],
  ['sampling', ['context', 'tools']],
]);
/** A server that is told of the roots of one downstream may act on them for everybody. */
const ROOTS = 'roots';
const OWN = new Set([...SHARED.keys(), ROOTS]);

/**
 * As the config says; else one for all, unless something in it belongs to one downstream. Made once per server, asked at every call.
 * A server of the modern era remembers nobody: it is told of roots with each request, if at all.
 */
export function shareRule(spec: ServerSpec): (caller: Caller, era?: Hello['era'] | 'unknown') => Share {
  const { share } = spec;
  if (share !== undefined) return () => share;
  const own = usesWorkspace(spec);
  return ({ capabilities }, era) => {
    if (own) return 'session';
    return capabilities.roots === undefined || era === 'modern' ? 'all' : ROOTS;
  };
}

/** Whether a server says the same to every client that offers the same, also where one of them had it alone before its era was known. */
export function knowsNobody(spec: ServerSpec, era: Hello['era']): boolean {
  return shareRule(spec)({ key: '', capabilities: { [ROOTS]: {} } }, era) === 'all';
}

/** Whether what is started depends on the folder that a downstream works in. */
export function usesWorkspace(spec: ServerSpec): boolean {
  return JSON.stringify(spec).includes('${workspaceFolder');
}

/** The folder that decides what is started; undefined where none does. */
export function launchFolder(spec: ServerSpec, workspaceFolder: string | undefined): string | undefined {
  return usesWorkspace(spec) ? (workspaceFolder ?? worldOf().cwd) : undefined;
}

/** A name for the set of capabilities that a caller offers: a server lists other tools for other capabilities. */
export function offeredKey(caller: Pick<Caller, 'capabilities'>): string {
  const { elicitation, sampling, roots } = caller.capabilities;
  // Asked at every call, and most clients have none of them.
  if (elicitation === undefined && sampling === undefined) return roots === undefined ? '' : ROOTS;
  const names = Object.entries(sharedOffer(caller)).map(([name, parts]) => [name, ...Object.keys(parts)].join('.'));
  return [...names, ...(roots === undefined ? [] : [ROOTS])].join('+');
}

/** The same set as a shared connection offers it: without roots, which are told only to servers that serve nobody with other roots. */
export function sharedKey(key: string): string {
  // Asked at every call.
  return key === '' ? key : key.replace(/(^|\+)roots$/, '');
}

function sharedOffer({ capabilities }: Pick<Caller, 'capabilities'>): Record<string, Record<string, unknown>> {
  const offer: Record<string, Record<string, unknown>> = {};
  for (const [name, known] of SHARED) {
    const given = capabilities[name];
    if (!isRecord(given)) continue;
    offer[name] = Object.fromEntries(known.filter((part) => given[part] !== undefined).map((part) => [part, {}]));
  }
  return offer;
}

export function introductionOf(share: Share, caller: Caller | undefined): Introduction {
  if (caller === undefined) return { capabilities: {} };
  if (share === 'all') return { capabilities: sharedOffer(caller) };
  if (share === ROOTS) return { capabilities: { ...sharedOffer(caller), [ROOTS]: { listChanged: true } } };
  const { capabilities: all, clientInfo } = caller;
  const capabilities = Object.fromEntries(Object.entries(all).filter(([name]) => OWN.has(name)));
  if (clientInfo === undefined) return { capabilities };
  return { capabilities, clientInfo: { ...clientInfo, name: `${clientInfo.name} (via mcpx)` } };
}

/** The folder that the first root names; undefined where that is no local folder. */
export function workspaceOf(caller: Caller | undefined): string | undefined {
  const root = caller?.roots?.[0];
  if (root === undefined) return undefined;
  try {
    return fileURLToPath(root);
  } catch {
    return undefined;
  }
}
