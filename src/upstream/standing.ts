/** What was asked for once and holds beyond its answer: subscriptions, asked for again when the next conversation begins, and tasks. */
import { isRecord, type Params } from '../wire/message.ts';
import type { Peer } from '../wire/peer.ts';

export interface Standing {
  /** Whether somebody expects to be told of changes, or of the end of a task, so that the conversation must not end for want of calls. */
  readonly expected: boolean;
  /** Whether a request asks for something that lasts. */
  lasts(method: string, params: Params | undefined): boolean;
  /** Takes note of a request that was answered. */
  note(method: string, params: Params | undefined, result: unknown): void;
  /** Takes note of what the server says by itself. */
  hear(method: string, params: Params | undefined): void;
  /** Asks for everything again. */
  renew(peer: Pick<Peer, 'request'>): void;
}

const LASTING: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe']);

/** ms that a task may keep its server at most. */
const LONGEST_TASK = 24 * 60 * 60_000;

export function createStanding(): Standing {
  const subscriptions = new Map<unknown, Params>();
  /** Until when each is worked on, and its result kept, monotonic ms. */
  const tasks = new Map<string, number>();

  /** A task as its server describes it: inside `task` where it has just begun. */
  const see = (said: unknown) => {
    const task = isRecord(said) && isRecord(said.task) ? said.task : said;
    if (!isRecord(task) || typeof task.taskId !== 'string' || typeof task.status !== 'string') return;
    const { taskId, status, ttl } = task;
    // One that is done is kept for its result, which comes with its status in the modern era.
    if (status === 'cancelled' || 'result' in task || 'error' in task) tasks.delete(taskId);
    else if (!tasks.has(taskId))
      tasks.set(taskId, performance.now() + (typeof ttl === 'number' ? Math.min(ttl, LONGEST_TASK) : LONGEST_TASK));
  };
  const isWorking = () => {
    const now = performance.now();
    for (const [task, until] of tasks) if (until <= now) tasks.delete(task);
    return tasks.size > 0;
  };

  return {
    get expected() {
      return subscriptions.size > 0 || isWorking();
    },
    lasts: (method, params) => params?.task !== undefined || LASTING.has(method) || method.startsWith('tasks/'),
    hear(method, params) {
      if (method === 'notifications/tasks/status') see(params);
    },
    note(method, params, result) {
      see(result);
      if (params === undefined) return;
      if (method === 'tasks/result') tasks.delete(String(params.taskId));
      else if (method === 'resources/subscribe') subscriptions.set(params.uri, params);
      else if (method === 'resources/unsubscribe') subscriptions.delete(params.uri);
    },
    renew(peer) {
      // The next conversation is with somebody who has never heard of them, as a rule.
      tasks.clear();
      // What the upstream no longer has cannot be subscribed to; it says so when it is read.
      for (const params of subscriptions.values()) peer.request('resources/subscribe', params).catch(() => undefined);
    },
  };
}
