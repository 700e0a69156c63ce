/** Tasks: the id, status and lifetime of a task in a result or a notification, in either era, and the requests that concern tasks. */
import { isRecord, type Params } from '../wire/message.ts';

/** The extension that defines tasks in the modern era. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** The maximum time in ms that a task keeps its server running. */
export const LONGEST_TASK = 24 * 60 * 60_000;

export interface Task {
  id: string;
  status: string;
  /** The maximum time in ms that the server keeps the task. */
  life: number;
  /** True if the result created the task and does not merely report its status. */
  begins: boolean;
  /**
   * True if the task need not be tracked. A finished task is kept for its result; in the modern era the status includes
   * the result.
   */
  isOver: boolean;
}

/**
 * Reads the task from a result or a notification. A new task is in `task` in the legacy era, and has the result type
 * `task` in the modern era; its status may be missing.
 */
export function taskIn(said: unknown): Task | undefined {
  if (!isRecord(said)) return undefined;
  const task = isRecord(said.task) ? said.task : said;
  const { taskId: id, status, ttl } = task;
  const begins = task !== said || said.resultType === 'task';
  if (typeof id !== 'string' || (typeof status !== 'string' && !begins)) return undefined;
  return {
    ...{ id, begins, status: typeof status === 'string' ? status : 'working' },
    life: typeof ttl === 'number' ? Math.min(ttl, LONGEST_TASK) : LONGEST_TASK,
    isOver: status === 'cancelled' || 'result' in task || 'error' in task,
  };
}

/** Returns true if a request begins a task or is about one. */
export function concernsTask(method: string, params: Params | undefined): boolean {
  return params?.task !== undefined || method.startsWith('tasks/');
}
