/** Calls that wait for input: an `input_required` result goes to the client, the answers come with its next request. */
import { randomBytes } from 'node:crypto';
import { cancelled } from '../../errors.ts';
import { type Principal, payerOf } from '../../policy/auth.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import type { RequestOptions } from '../../wire/peer.ts';

/** The outcome of a request: its result, its error, or the questions to the client. */
export type Outcome = { result: unknown } | { error: unknown } | { questions: Params; state: string };

/** The identity of a call: only the same client may continue it, with the same request. */
export interface Origin {
  principal: Principal | undefined;
  profile: string;
  /** The method and all params that affect the call. */
  words: string;
}

export interface HeldCalls {
  begin(origin: Origin): HeldCall;
  /**
   * Returns the call with this state and passes the answers to it; undefined if the state is unknown, used, or of
   * another client.
   */
  resume(state: string, origin: Origin, answers: unknown): HeldCall | undefined;
  close(): void;
}

export interface HeldCall {
  readonly signal: AbortSignal;
  ask(method: string, params: Params, options?: RequestOptions): Promise<unknown>;
  /** Sends a notification to the client on the current response; returns false if the client does not want it. */
  hear: (method: string, params?: Params) => unknown;
  progress: (params: Params) => void;
  /** Starts the work of the call; called once. */
  run(work: () => Promise<unknown>): void;
  /** Resolves with the next outcome. */
  outcome(): Promise<Outcome>;
  abort(reason: string): void;
}

interface Question {
  key: string;
  method: string;
  params: Params;
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
}

/** Milliseconds that a call waits for the client's answers, and the maximum number of waiting calls. */
const HOLD = 5 * 60_000;
const MAX_HELD = 500;

export function createHeldCalls({ maxHeld = MAX_HELD } = {}): HeldCalls {
  const held = new Map<string, { call: Call; origin: Origin; timer: NodeJS.Timeout }>();

  const keep = (call: Call, origin: Origin): string => {
    const state = randomBytes(24).toString('base64url');
    if (held.size >= maxHeld) drop(superfluous(held), 'another call needed the room');
    const timer = setTimeout(() => drop(state, 'the client did not answer in time'), HOLD).unref();
    held.set(state, { call, origin, timer });
    return state;
  };
  const take = (state: string) => {
    const entry = held.get(state);
    clearTimeout(entry?.timer);
    held.delete(state);
    return entry?.call;
  };
  const drop = (state: string, reason: string) => take(state)?.abort(reason);

  return {
    begin: (origin) => new Call((call) => keep(call, origin)),
    resume(state, origin, answers) {
      const entry = held.get(state);
      if (entry === undefined || !same(entry.origin, origin)) return undefined;
      take(state);
      entry.call.answer(isRecord(answers) ? answers : {});
      return entry.call;
    },
    close() {
      for (const state of held.keys()) drop(state, 'mcpx is stopping');
    },
  };
}

/** Returns the oldest call of the client with the most calls, so that no client can displace those of others. */
function superfluous(held: ReadonlyMap<string, { origin: Origin }>): string {
  const byPayer = new Map<string | undefined, string[]>();
  for (const [state, { origin }] of held) {
    const payer = payerOf(origin.principal);
    const own = byPayer.get(payer);
    if (own === undefined) byPayer.set(payer, [state]);
    else own.push(state);
  }
  const [most = []] = [...byPayer.values()].sort((one, other) => other.length - one.length);
  return most[0] ?? '';
}

function same(one: Origin, other: Origin): boolean {
  return one.principal === other.principal && one.profile === other.profile && one.words === other.words;
}

class Call implements HeldCall {
  hear: HeldCall['hear'] = () => undefined;
  progress: HeldCall['progress'] = () => undefined;
  readonly #keep: (call: Call) => string;
  readonly #controller = new AbortController();
  readonly #questions = new Map<string, Question>();
  #asked = 0;
  #final: Outcome | undefined;
  #wake: () => void = () => undefined;

  constructor(keep: (call: Call) => string) {
    this.#keep = keep;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  run(work: () => Promise<unknown>): void {
    const settle = (outcome: Outcome) => {
      this.#final = outcome;
      this.#wake();
    };
    work().then(
      (result) => settle({ result }),
      (error) => settle({ error }),
    );
  }

  ask(method: string, params: Params, { signal }: RequestOptions = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const key = `q${++this.#asked}`;
      this.#questions.set(key, { key, method, params, resolve, reject });
      const forget = () => {
        if (this.#questions.delete(key)) reject(cancelled(method));
      };
      signal?.addEventListener('abort', forget, { once: true });
      this.signal.addEventListener('abort', forget, { once: true });
      // Questions of the same event loop turn are sent together.
      setImmediate(() => this.#wake());
    });
  }

  async outcome(): Promise<Outcome> {
    while (this.#final === undefined && this.#questions.size === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.#final !== undefined) return this.#final;
    const questions = [...this.#questions.values()].map(({ key, method, params }) => [key, { method, params }]);
    return { questions: Object.fromEntries(questions), state: this.#keep(this) };
  }

  /** Passes the answers to the call; unanswered questions are sent again. */
  answer(answers: Params): void {
    for (const [key, { resolve }] of this.#questions) {
      if (!Object.hasOwn(answers, key)) continue;
      this.#questions.delete(key);
      resolve(answers[key]);
    }
  }

  abort(reason: string): void {
    this.#controller.abort(reason);
  }
}
