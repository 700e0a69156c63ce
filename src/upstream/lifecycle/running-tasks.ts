/** The running tasks of a connection, which keep it open between requests. */
import { BoundedMap } from '../../bounded-map.ts';
import { type Task, taskIn } from '../../mcp/tasks.ts';
import type { Params } from '../../wire/message.ts';

export interface RunningTasks {
  /** True while a task runs, so that the connection must not be stopped as idle. */
  readonly isRunning: boolean;
  /** Records a request and its result. */
  note(method: string, params: Params | undefined, result: unknown): void;
  /** Records a notification of the server. */
  onNotification(method: string, params: Params | undefined): void;
  /** Forgets all tasks: the next connection usually reaches a new process, which does not know them. */
  clear(): void;
}

/** The states of a finished task. */
const DONE: ReadonlySet<string> = new Set(['completed', 'failed']);
/** The maximum number of tracked tasks; the oldest are dropped first. */
const MAX_TASKS = 1000;

export function createRunningTasks(): RunningTasks {
  /** The expiry of each task in monotonic ms. */
  const tasks = new BoundedMap<string, number>(MAX_TASKS);

  /** Tracks only tasks that a client requested: a server could create tasks without end. */
  const see = (task: Task) => {
    if (task.isOver) tasks.delete(task.id);
    else if (!tasks.has(task.id) && (task.begins || !DONE.has(task.status)))
      tasks.set(task.id, performance.now() + task.life);
  };

  return {
    get isRunning() {
      const now = performance.now();
      for (const [task, until] of tasks) if (until <= now) tasks.delete(task);
      return tasks.size > 0;
    },
    onNotification(method, params) {
      const task = method === 'notifications/tasks/status' ? taskIn(params) : undefined;
      if (task?.isOver) tasks.delete(task.id);
    },
    note(method, params, result) {
      const task = taskIn(result);
      if (task) see(task);
      if (method === 'tasks/result') tasks.delete(String(params?.taskId));
    },
    clear: () => tasks.clear(),
  };
}
