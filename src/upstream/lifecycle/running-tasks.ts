/** Tracks subscriptions, which are renewed on the next connection, and tasks, which keep a connection open. */
import { BoundedMap } from '../../bounded-map.ts';

import { isLasting, type Task, taskIn } from '../../mcp/tasks.ts';
import type { Params } from '../../wire/message.ts';
import type { Peer } from '../../wire/peer.ts';

export interface Resubscriber {
  /** True while a subscription or a running task exists, so that the connection must not be stopped as idle. */
  readonly hasSubscribers: boolean;
  /** Returns true if the request concerns a subscription or a task. */
  isLasting(method: string, params: Params | undefined): boolean;
  /** Records a request and its result. */
  note(method: string, params: Params | undefined, result: unknown): void;
  /** Records a notification of the server. */
  onNotification(method: string, params: Params | undefined): void;
  /** Subscribes to all resources again on a new connection. */
  resubscribe(peer: Pick<Peer, 'request'>): void;
}

/** The states of a finished task. */
const DONE: ReadonlySet<string> = new Set(['completed', 'failed']);
/** The maximum number of tracked tasks; the oldest are dropped first. */
const MAX_TASKS = 1000;

export function createResubscriber(): Resubscriber {
  const subscriptions = new Map<unknown, Params>();
  /** The expiry of each task in monotonic ms. */
  const tasks = new BoundedMap<string, number>(MAX_TASKS);

  /** Tracks only tasks that a client requested: a server could create tasks without end. */
  const see = (task: Task) => {
    if (task.isOver) tasks.delete(task.id);
    else if (!tasks.has(task.id) && (task.begins || !DONE.has(task.status)))
      tasks.set(task.id, performance.now() + task.life);
  };
  const isWorking = () => {
    const now = performance.now();
    for (const [task, until] of tasks) if (until <= now) tasks.delete(task);
    return tasks.size > 0;
  };

  return {
    get hasSubscribers() {
      return subscriptions.size > 0 || isWorking();
    },
    isLasting,
    onNotification(method, params) {
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
    resubscribe(peer) {
      // The next connection usually reaches a new process, which does not know these tasks.
      tasks.clear();
      // A failed renewal is ignored: the client gets an error when it reads the resource.
      for (const params of subscriptions.values()) peer.request('resources/subscribe', params).catch(() => undefined);
    },
  };
}
