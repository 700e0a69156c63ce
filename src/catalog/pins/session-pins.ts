/** `lock: "session"` for one client: it keeps the definitions that it was shown, and calls of a changed tool are refused. */
import { McpxError } from '../../errors.ts';
import type { Tool } from '../listing.ts';
import type { History } from './definition-history.ts';
import type { Comparison } from './digest.ts';
import type { SessionPins, Subject } from './pins.ts';
import type { ShownTo } from './shown-definitions.ts';

/** The lists of one server that a client is shown. */
export interface Followed {
  history: History;
  folder: string | undefined;
  /** The only client of the connection on which it was listed. */
  owner: string | undefined;
  /** True if the server itself has listed it in this run. */
  isLive: boolean;
}

export interface SessionPinsDeps {
  comparison: Comparison;
  /** The definitions that another process showed to the client, if its session began there. */
  shownBefore?: ShownTo | undefined;
  offered(): string;
  /** Returns another number after each list of any server. */
  clock(): number;
  /** True until the client has left. */
  isHere(): boolean;
  /** Returns the lists that this client is shown now. */
  follow(server: string, offered: string): Followed | undefined;
}

/** The lists of a server that a client follows, and since when. */
interface Pin {
  followed: Followed;
  since: number;
  /** The version of the server when it was shown. */
  version: string;
  /** Tools that were shown from lists followed before, and that differ in the current ones. */
  kept: Map<string, Tool | 'unknown'>;
  /** Digests of tools that another process showed. */
  digests?: Readonly<Record<string, string>> | undefined;
  /** The clock value of the last check. */
  checked: number;
  offered: string;
}

export function createSessionPins(deps: SessionPinsDeps): SessionPins {
  const { comparison, clock, isHere, follow, shownBefore } = deps;
  const pins = new Map<string, Pin>();

  /** Returns the current pin of a server. It runs for every call, and nearly always nothing was listed since. */
  const look = ({ name }: Subject): Pin | undefined => {
    if (!isHere()) return undefined;
    const pin = pins.get(name);
    const now = clock();
    const offered = deps.offered();
    if (pin?.checked === now && pin.offered === offered) return pin;
    const followed = follow(name, offered);
    if (followed === undefined) return pin;
    const next = pin === undefined ? resume(name, offered, begin(followed, now)) : goOn(pin, followed, now);
    Object.assign(next, { checked: now, offered });
    pins.set(name, next);
    return next;
  };

  const resume = (server: string, offered: string, pin: Pin): Pin => {
    const before = shownBefore?.(server, offered);
    const isSame = before?.version === pin.version && before.folder === pin.followed.folder;
    return isSame ? { ...pin, digests: before.tools } : pin;
  };

  /** Continues a pin with the current lists; a new version starts a new pin. */
  const goOn = (pin: Pin, followed: Followed, now: number): Pin => {
    if (pin.version !== followed.history.version) return begin(followed, now);
    if (pin.followed === followed) return pin;
    return pin.followed.folder === followed.folder ? carry(pin, followed, now) : begin(followed, now);
  };

  /**
   * Switches a client to other lists: its own, or those for its capabilities. The definitions that it was shown are
   * kept.
   */
  const carry = (pin: Pin, followed: Followed, now: number): Pin => {
    const kept = new Map(pin.kept);
    for (const name of pin.followed.history.names()) {
      const was = kept.get(name) ?? pin.followed.history.first(name, pin.since);
      if (was === undefined) continue;
      const next = followed.history.current(name);
      if (was === 'unknown' || next === undefined || !comparison.same(was, next)) kept.set(name, was);
    }
    return { ...begin(followed, now), kept, digests: pin.digests };
  };

  const wasShown = ({ kept, followed, since }: Pin, tool: string): Tool | 'unknown' | undefined =>
    kept.get(tool) ?? followed.history.first(tool, since);

  return {
    shown(server, tools) {
      const pin = look(server);
      if (pin === undefined || (isUnchanged(pin) && pin.followed.owner === undefined)) return tools;
      return tools.map((listed) => {
        const was = wasShown(pin, listed.tool.name);
        return was === undefined || was === 'unknown' || was === listed.tool ? listed : { ...listed, tool: was };
      });
    },
    relies: ({ name }) => pins.has(name) || shownBefore?.(name, deps.offered()) !== undefined,
    held(server, { tool }) {
      const pin = look(server);
      if (pin === undefined) return undefined;
      const now = pin.followed.history.current(tool.name);
      const { digests = {} } = pin;
      if (now && Object.hasOwn(digests, tool.name) && comparison.digest(now) !== digests[tool.name])
        return changedUnderSession(server.name, tool.name, pin.version);
      if (isUnchanged(pin)) return undefined;
      const was = wasShown(pin, tool.name);
      if (was === undefined || now === undefined) return undefined;
      if (was !== 'unknown' && comparison.same(was, now)) return undefined;
      return changedUnderSession(server.name, tool.name, pin.version);
    },
  };
}

function begin(followed: Followed, now: number): Pin {
  const { version } = followed.history;
  return { followed, since: now, version, kept: new Map(), checked: now, offered: '' };
}

function isUnchanged({ kept, followed, since }: Pin): boolean {
  return kept.size === 0 && followed.history.changedAt <= since;
}

function changedUnderSession(server: string, tool: string, version: string): McpxError {
  return new McpxError(
    'refused',
    `"${server}.${tool}" is no longer what this session was shown: its definition changed while its server still calls itself version ${version}`,
    { hint: 'begin a new session to use it as it is now; "lock" in the config decides this' },
  );
}
