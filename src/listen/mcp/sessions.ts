/** All sessions of the HTTP listener: their owners, their limits, and the end of idle ones. */
import { randomBytes } from 'node:crypto';
import type { Settings } from '../../config/config.ts';
import { type Principal, payerOf } from '../../policy/auth.ts';

/** The properties of a session that the limits depend on. */
export interface SessionEntry {
  readonly id: string;
  readonly profile: string;
  readonly principal: Principal | undefined;
  /** True while a call is in progress. */
  readonly calling: boolean;
  /** True while a call is in progress or a stream is open; the session is not idle then. */
  readonly busy: boolean;
  end(reason: string): void;
}

export interface Full {
  status: 429 | 503;
  message: string;
  hint: string;
  /** Seconds until a retry may succeed. */
  retryAfter: number;
}

export interface Sessions<M extends SessionEntry> {
  readonly size: number;
  /** Makes room for one more session, if necessary by ending the idlest; returns the error if there is no room. */
  room(principal: Principal | undefined): Full | undefined;
  /** Returns a random id that cannot be guessed. */
  newId(): string;
  add(member: M): void;
  /** Returns a session of this principal and marks it as used; sessions of other principals are not found. */
  find(id: string, principal: Principal | undefined): M | undefined;
  end(member: M, reason: string): void;
  /** Ends the sessions that may not stay, including those with calls in progress. */
  expel(mayStay: (member: M) => boolean, reason: string): void;
  /** Ends the sessions without a call in progress. */
  release(reason: string): void;
  close(reason: string): void;
}

interface Entry<M> {
  member: M;
  /** Time of the last use in epoch ms. */
  used: number;
}

type Limits = Pick<Settings['http'], 'maxSessions' | 'sessionsPerToken' | 'sessionIdle'>;

/** Maximum milliseconds between two checks for idle sessions. */
const SWEEP = 30_000;

export interface SessionEvents<M> {
  /** Called after each check for idle sessions. */
  swept?(): void;
  /** Called when a session ends for any reason except the stop of mcpx. */
  ended?(member: M): void;
}

export function createSessions<M extends SessionEntry>(limits: Limits, events: SessionEvents<M> = {}): Sessions<M> {
  return new SessionTable(limits, events);
}

class SessionTable<M extends SessionEntry> implements Sessions<M> {
  readonly #limits: Limits;
  readonly #events: SessionEvents<M>;
  readonly #members = new Map<string, Entry<M>>();
  readonly #timer: NodeJS.Timeout;

  constructor(limits: Limits, events: SessionEvents<M>) {
    this.#limits = limits;
    this.#events = events;
    const interval = Math.max(10, Math.min(SWEEP, limits.sessionIdle / 2));
    this.#timer = setInterval(() => this.#sweep(), interval).unref();
  }

  get size(): number {
    return this.#members.size;
  }

  room(principal: Principal | undefined): Full | undefined {
    const { sessionsPerToken, maxSessions } = this.#limits;
    const counts = this.#countSessions();
    const payer = payerOf(principal);
    const own = counts.get(payer) ?? 0;
    const isOwn = (member: M) => payerOf(member.principal) === payer;
    if (principal !== undefined && own >= sessionsPerToken)
      return this.#full(429, 'this token has too many sessions', isOwn);
    if (this.#members.size < maxSessions) return undefined;
    // Ends the idlest session of the principal with the most sessions, so that no principal loses one to another that
    // has more.
    const candidates = this.#idle();
    const [idlest] = candidates
      .map((entry) => ({ member: entry.member, count: counts.get(payerOf(entry.member.principal)) ?? 0 }))
      .filter(({ count }) => count >= own)
      .sort((a, b) => b.count - a.count);
    if (idlest === undefined && candidates.length > 0)
      return this.#full(429, 'all sessions of this token are in use, and there is room for no more', isOwn);
    if (idlest === undefined) return this.#full(503, 'there are too many sessions, all of them in use', () => true);
    this.end(idlest.member, 'another session needed the room');
    return undefined;
  }

  newId(): string {
    return randomBytes(24).toString('base64url');
  }

  add(member: M): void {
    this.#members.set(member.id, { member, used: Date.now() });
  }

  find(id: string, principal: Principal | undefined): M | undefined {
    const entry = this.#members.get(id);
    if (entry === undefined || entry.member.principal !== principal) return undefined;
    entry.used = Date.now();
    return entry.member;
  }

  end(member: M, reason: string): void {
    if (this.#remove(member, reason)) this.#events.ended?.(member);
  }

  expel(mayStay: (member: M) => boolean, reason: string): void {
    for (const { member } of [...this.#members.values()]) if (!mayStay(member)) this.end(member, reason);
  }

  release(reason: string): void {
    for (const { member } of this.#members.values()) if (!member.calling) this.#remove(member, reason);
  }

  close(reason: string): void {
    clearInterval(this.#timer);
    for (const { member } of this.#members.values()) this.#remove(member, reason);
  }

  #idle(): Entry<M>[] {
    return [...this.#members.values()].filter(({ member }) => !member.busy).sort((a, b) => a.used - b.used);
  }

  #countSessions(): Map<string | undefined, number> {
    const counts = new Map<string | undefined, number>();
    for (const { member } of this.#members.values()) {
      const payer = payerOf(member.principal);
      counts.set(payer, (counts.get(payer) ?? 0) + 1);
    }
    return counts;
  }

  #remove(member: M, reason: string): boolean {
    const isHere = this.#members.delete(member.id);
    if (isHere) member.end(reason);
    return isHere;
  }

  #sweep(): void {
    const oldest = Date.now() - this.#limits.sessionIdle;
    for (const entry of [...this.#members.values()]) {
      if (entry.member.busy) entry.used = Date.now();
      else if (entry.used <= oldest) this.end(entry.member, 'the session was idle for too long');
    }
    this.#events.swept?.();
  }

  #full(status: Full['status'], message: string, among: (member: M) => boolean): Full {
    const idlest = this.#idle().find(({ member }) => among(member));
    const wait = idlest === undefined ? SWEEP : idlest.used + this.#limits.sessionIdle - Date.now();
    const setting = status === 429 ? 'sessionsPerToken' : 'maxSessions';
    const hint = `end sessions with DELETE when they are no longer needed; "http.${setting}" in the config is the bound`;
    return { status, message, hint, retryAfter: Math.max(1, Math.ceil(wait / 1000)) };
  }
}
