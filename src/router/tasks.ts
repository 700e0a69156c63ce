/** Work that servers go on with after their answer: which server does it, and for whom. Nobody else learns of it. */
import { isRecord } from '../wire/message.ts';

/** The tasks of one client. */
export interface OwnTasks {
  /** Takes note of a task that the result of a call announces. */
  note(server: string, result: unknown): void;
  /** Who does it: nobody for a task of somebody else, or one from before this process; several where servers chose the same id. */
  servers(id: unknown): string[];
  /** Whether it may be a task of this client all the same: where there are no tokens, everybody is the same person. */
  mayOwn(id: unknown): boolean;
}

export interface Tasks {
  of(client: { holder: string; known: 'by token' | 'by session' }): OwnTasks;
}

/** The oldest are forgotten first. */
const MAX_TASKS = 10_000;

export function createTasks(): Tasks {
  /** By who began it and its id, which only its own server makes sure to use once. */
  const tasks = new Map<string, { id: string; servers: Set<string> }>();
  const isKnown = (id: string) => [...tasks.values()].some((task) => task.id === id);
  return {
    of: ({ holder, known }) => ({
      note(server, result) {
        const id = idIn(result);
        if (id === undefined) return;
        const key = keyOf(holder, id);
        const task = tasks.get(key) ?? { id, servers: new Set() };
        const [oldest] = tasks.keys();
        if (!tasks.has(key) && tasks.size >= MAX_TASKS && oldest !== undefined) tasks.delete(oldest);
        task.servers.add(server);
        tasks.set(key, task);
      },
      servers: (id) => [...(tasks.get(keyOf(holder, String(id)))?.servers ?? [])],
      mayOwn: (id) => known === 'by session' && !isKnown(String(id)),
    }),
  };
}

function keyOf(holder: string, id: string): string {
  return JSON.stringify([holder, id]);
}

/** At the top in the modern era, inside `task` in the one before. */
function idIn(result: unknown): string | undefined {
  if (!isRecord(result)) return undefined;
  const { taskId } = isRecord(result.task) ? result.task : result.resultType === 'task' ? result : {};
  return typeof taskId === 'string' ? taskId : undefined;
}
