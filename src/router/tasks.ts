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

/** Where there are more, the oldest of whoever has most is forgotten. */
const MAX_TASKS = 10_000;

/** Where the servers that use an id for a task were asked: only its own server makes sure to use it once. */
type Servers = Map<string, WeakRef<Connection>>;

export function createTasks(max = MAX_TASKS): Tasks {
  /** By who began them, then by id. */
  const tasks = new Map<string, Map<string, Servers>>();
  let size = 0;

  const forgetOne = () => {
    const [[holder, most] = ['', new Map<string, Servers>()]] = [...tasks].sort((a, b) => b[1].size - a[1].size);
    const [oldest] = most.keys();
    if (oldest !== undefined && most.delete(oldest)) size -= 1;
    if (most.size === 0) tasks.delete(holder);
  };
  const add = (holder: string, id: string): Servers => {
    if (size >= max) forgetOne();
    const own = tasks.get(holder) ?? new Map<string, Servers>();
    const servers: Servers = new Map();
    tasks.set(holder, own.set(id, servers));
    size += 1;
    return servers;
  };
  const find = (holder: string, id: unknown) => tasks.get(holder)?.get(String(id));
  const isKnown = (id: string) => [...tasks.values()].some((own) => own.has(id));

  return {
    of: ({ holder, known }) => ({
      note(via, result) {
        const id = idIn(result);
        if (id === undefined) return;
        const servers = find(holder, id) ?? add(holder, id);
        servers.set(via.name, new WeakRef(via));
      },
      servers: (id) => [...(find(holder, id)?.keys() ?? [])],
      via(id, server) {
        const via = find(holder, id)?.get(server)?.deref();
        // A process per call has ended with its call, and what it was made of may have changed since.
        return via?.fleeting || via?.state.kind === 'closed' ? undefined : via;
      },
      mayOwn: (id) => known === 'by session' && !isKnown(String(id)),
    }),
  };
}

/** At the top in the modern era, inside `task` in the one before. */
function idIn(result: unknown): string | undefined {
  if (!isRecord(result)) return undefined;
  const { taskId } = isRecord(result.task) ? result.task : result.resultType === 'task' ? result : {};
  return typeof taskId === 'string' ? taskId : undefined;
}
