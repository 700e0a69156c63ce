/** A client in conversation with mcpx, as every check sees it, and what it answers when it is asked. */
import { PATIENCE } from '../setup/until.ts';

/** Where mcpx is: a command to start, or a URL. */
export interface Target {
  command: { command: string; args: string[]; env: Record<string, string>; cwd: string };
  url: string;
}

export interface Asking {
  progress?: (params: { progress: number; message?: string }) => void;
  signal?: AbortSignal;
}

/** Requests of servers that the client can answer. */
export type Asked = 'sampling' | 'elicitation' | 'roots';

export interface Conversation {
  /** The whole result; rejects with what the server said. */
  request(method: string, params?: Record<string, unknown>, asking?: Asking): Promise<any>;
  /** Every notification so far, and a way to wait for one. */
  heard: Heard;
  /** Asks for the stream of changes, where a client has to. */
  listen(): Promise<void>;
  close(): Promise<void>;
}

export const ANSWERS = {
  'sampling/createMessage': {
    model: 'interop',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled by the client' },
  },
  'elicitation/create': { action: 'accept' as const, content: { name: 'Ada' } },
  'roots/list': { roots: [{ uri: 'file:///interop', name: 'interop' }] },
};

export class Heard {
  readonly all: { method: string; params: any }[] = [];
  readonly #waiting = new Set<() => void>();

  add(method: string, params: unknown): void {
    this.all.push({ method, params });
    for (const look of this.#waiting) look();
  }

  /** The params of the first such notification after `from`, which counts from the beginning; rejects when none comes. */
  next(method: string, from = 0): Promise<any> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.all.slice(from).find((one) => one.method === method);
        if (found === undefined) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(found.params ?? {});
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        reject(new Error(`no ${method} within ${PATIENCE} ms`));
      }, PATIENCE);
      this.#waiting.add(look);
      look();
    });
  }
}

export const capabilitiesOf = (can: Asked[]) =>
  Object.fromEntries(can.map((one) => [one, one === 'elicitation' ? { form: {}, url: {} } : {}]));
