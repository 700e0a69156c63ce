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

/** Of tasks that are done. */
const DONE: ReadonlySet<string> = new Set(['completed', 'failed']);
const LASTING: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe']);

/** ms that a task may keep its server at most. */
const LONGEST_TASK = 24 * 60 * 60_000;
/** The oldest are forgotten first. */
const MAX_TASKS = 1000;

export function createStanding(): Standing {
  const subscriptions = new Map<unknown, Params>();
  /** Until when each is worked on, and its result kept, monotonic ms. */
  const tasks = new Map<string, number>();

  /** Only what was asked for keeps a server: what it makes up by itself could go on for ever. */
  const see = (task: Task) => {
    if (task.isOver) tasks.delete(task.id);
    else if (!tasks.has(task.id) && (task.begins || !DONE.has(task.status))) {
      const [oldest] = tasks.keys();
      if (tasks.size >= MAX_TASKS && oldest !== undefined) tasks.delete(oldest);
      tasks.set(task.id, performance.now() + task.life);
    }
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
      const task = method === 'notifications/tasks/status' ? taskIn(params) : undefined;
      if (task?.isOver) tasks.delete(task.id);
    },
    note(method, params, result) {
      const task = taskIn(result);
      if (task) see(task);
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

interface Task {
  id: string;
  status: string;
  /** ms for which its server keeps it, at most. */
  life: number;
  /** Whether it was just begun, and not asked about. */
  begins: boolean;
  /** One that is done is kept for its result, which comes with its status in the modern era. */
  isOver: boolean;
}

/** As its server describes it: inside `task`, or said to be one, where it has just begun. */
function taskIn(said: unknown): Task | undefined {
  if (!isRecord(said)) return undefined;
  const task = isRecord(said.task) ? said.task : said;
  const { taskId: id, status, ttl } = task;
  if (typeof id !== 'string' || typeof status !== 'string') return undefined;
  return {
    ...{ id, status },
    life: typeof ttl === 'number' ? Math.min(ttl, LONGEST_TASK) : LONGEST_TASK,
    begins: task !== said || said.resultType === 'task',
    isOver: status === 'cancelled' || 'result' in task || 'error' in task,
  };
}
