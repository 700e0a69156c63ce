/** All sessions of the HTTP listener: who owns which, how many there may be, and when an idle one goes. */
import { randomBytes } from 'node:crypto';
import type { Settings } from '../config/config.ts';
import type { Principal } from '../policy/auth.ts';

/** A session, as far as it is counted. */
export interface Member {
  readonly id: string;
  readonly profile: string;
  readonly principal: Principal | undefined;
  /** A call is under way. */
  readonly calling: boolean;
  /** A call is under way or a stream is open: never ended for being idle. */
  readonly busy: boolean;
  end(reason: string): void;
}

export interface Full {
  status: 429 | 503;
  message: string;
  hint: string;
  /** Seconds. */
  retryAfter: number;
}

export interface Sessions<M extends Member> {
  readonly size: number;
  /** Room for one more, for which the idlest may have to go; otherwise why there is none. */
  room(principal: Principal | undefined): Full | undefined;
  /** An id that nobody can guess. */
  newId(): string;
  add(member: M): void;
  /** A session of this principal; what belongs to somebody else does not exist. Counts as use. */
  find(id: string, principal: Principal | undefined): M | undefined;
  end(member: M, reason: string): void;
  /** Ends those that may not stay, calls under way included. */
  expel(mayStay: (member: M) => boolean, reason: string): void;
  /** Ends those without a call under way. */
  release(reason: string): void;
  close(reason: string): void;
}

interface Entry<M> {
  member: M;
  /** Epoch ms. */
  used: number;
}

type Limits = Pick<Settings['http'], 'maxSessions' | 'sessionsPerToken' | 'sessionIdle'>;

/** ms between two looks for idle sessions, at most. */
const SWEEP = 30_000;

export interface SessionEvents<M> {
  /** It was looked for idle sessions. */
  swept?(): void;
  /** A session ended for another reason than the end of mcpx. */
  ended?(member: M): void;
}

export function createSessions<M extends Member>(limits: Limits, { swept, ended }: SessionEvents<M> = {}): Sessions<M> {
  const members = new Map<string, Entry<M>>();
  const idle = () => [...members.values()].filter(({ member }) => !member.busy).sort((a, b) => a.used - b.used);

  const countSessions = () => {
    const counts = new Map<Principal | undefined, number>();
    for (const { member } of members.values()) counts.set(member.principal, (counts.get(member.principal) ?? 0) + 1);
    return counts;
  };

  const remove = (member: M, reason: string): boolean => {
    const isHere = members.delete(member.id);
    if (isHere) member.end(reason);
    return isHere;
  };
  const end = (member: M, reason: string) => {
    if (remove(member, reason)) ended?.(member);
  };
  const sweep = () => {
    const oldest = Date.now() - limits.sessionIdle;
    for (const entry of [...members.values()]) {
      if (entry.member.busy) entry.used = Date.now();
      else if (entry.used <= oldest) end(entry.member, 'the session was idle for too long');
    }
    swept?.();
  };
  const timer = setInterval(sweep, Math.max(10, Math.min(SWEEP, limits.sessionIdle / 2))).unref();

  const full = (status: Full['status'], message: string, among: (member: M) => boolean): Full => {
    const idlest = idle().find(({ member }) => among(member));
    const wait = idlest === undefined ? SWEEP : idlest.used + limits.sessionIdle - Date.now();
    const hint = `end sessions with DELETE when they are no longer needed; "http.${status === 429 ? 'sessionsPerToken' : 'maxSessions'}" in the config is the bound`;
    return { status, message, hint, retryAfter: Math.max(1, Math.ceil(wait / 1000)) };
  };

  return {
    get size() {
      return members.size;
    },
    room(principal) {
      const counts = countSessions();
      const own = counts.get(principal) ?? 0;
      const isOwn = (member: M) => member.principal === principal;
      if (principal !== undefined && own >= limits.sessionsPerToken)
        return full(429, 'this token has too many sessions', isOwn);
      if (members.size < limits.maxSessions) return undefined;
      // The idlest of those who have most: nobody loses a session to somebody who has more.
      const candidates = idle();
      const [idlest] = candidates
        .filter(({ member }) => (counts.get(member.principal) ?? 0) >= own)
        .sort((a, b) => (counts.get(b.member.principal) ?? 0) - (counts.get(a.member.principal) ?? 0));
      if (idlest === undefined && candidates.length > 0)
        return full(429, 'all sessions of this token are in use, and there is room for no more', isOwn);
      if (idlest === undefined) return full(503, 'there are too many sessions, all of them in use', () => true);
      end(idlest.member, 'another session needed the room');
      return undefined;
    },
    newId: () => randomBytes(24).toString('base64url'),
    add: (member) => void members.set(member.id, { member, used: Date.now() }),
    find(id, principal) {
      const entry = members.get(id);
      if (entry === undefined || entry.member.principal !== principal) return undefined;
      entry.used = Date.now();
      return entry.member;
    },
    end,
    expel(mayStay, reason) {
      for (const { member } of [...members.values()]) if (!mayStay(member)) end(member, reason);
    },
    release(reason) {
      for (const { member } of members.values()) if (!member.calling) remove(member, reason);
    },
    close(reason) {
      clearInterval(timer);
      for (const { member } of members.values()) remove(member, reason);
    },
  };
}
