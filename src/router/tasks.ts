/** Work that servers go on with after their answer: which server does it, on which connection, and for whom. Nobody else learns of it. */
import type { Connection } from '../upstream/connection.ts';
import { isRecord } from '../wire/message.ts';

/** The tasks of one client. */
export interface OwnTasks {
  /** Takes note of a task that the result of a call announces. */
  note(via: Connection, result: unknown): void;
  /** Who does it: nobody for a task of somebody else, or one from before this process; several where servers chose the same id. */
  servers(id: unknown): string[];
  /** Where such a server does it: what this client has of it now may be another process. Undefined once that has ended. */
  via(id: unknown, server: string): Connection | undefined;
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
  const tasks = new Map<string, { id: string; servers: Map<string, WeakRef<Connection>> }>();
  const isKnown = (id: string) => [...tasks.values()].some((task) => task.id === id);
  return {
    of: ({ holder, known }) => ({
      note(via, result) {
        const id = idIn(result);
        if (id === undefined) return;
        const key = keyOf(holder, id);
        const task = tasks.get(key) ?? { id, servers: new Map<string, WeakRef<Connection>>() };
        const [oldest] = tasks.keys();
        if (!tasks.has(key) && tasks.size >= MAX_TASKS && oldest !== undefined) tasks.delete(oldest);
        task.servers.set(via.name, new WeakRef(via));
        tasks.set(key, task);
      },
      servers: (id) => [...(tasks.get(keyOf(holder, String(id)))?.servers.keys() ?? [])],
      via(id, server) {
        const via = tasks
          .get(keyOf(holder, String(id)))
          ?.servers.get(server)
          ?.deref();
        // A process per call has ended with its call, and what it was made of may have changed since.
        return via?.fleeting || via?.state.kind === 'closed' ? undefined : via;
      },
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
