/** Records the client, the server and the connection of each MCP task, so that no other client can read it. */
import { taskIn } from '../mcp/tasks.ts';
import type { Connection } from '../upstream/connection-interface.ts';

/** The tasks of one client. */
export interface OwnTasks {
  /** Records the task that the result of a call announces. */
  note(via: Connection, result: unknown): void;
  /**
   * The servers that run the task. None if it belongs to another client or was created before this process started;
   * several if servers chose the same id.
   */
  servers(id: unknown): string[];
  /**
   * The connection on which that server runs the task, which may differ from the client's current one; undefined once
   * it is closed.
   */
  via(id: unknown, server: string): Connection | undefined;
  /** True if an unknown task may still belong to this client: without tokens, all clients are one principal. */
  mayOwn(id: unknown): boolean;
}

export interface TaskOwners {
  of(client: { holder: string; known: 'by token' | 'by session' }): OwnTasks;
}

/** Maximum number of tasks. Above it, the oldest task of the client that has the most is dropped. */
const MAX_TASKS = 10_000;

/** Connections by server name, for one task id: task ids are unique only within a server. */
type Servers = Map<string, WeakRef<Connection>>;

export function createTaskOwners(max = MAX_TASKS): TaskOwners {
  /** Tasks by the client that created them, then by id. */
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
        const task = taskIn(result);
        if (!task?.begins) return;
        const { id } = task;
        const servers = find(holder, id) ?? add(holder, id);
        servers.set(via.name, new WeakRef(via));
      },
      servers: (id) => [...(find(holder, id)?.keys() ?? [])],
      via(id, server) {
        const via = find(holder, id)?.get(server)?.deref();
        // A connection that serves a single call is closed after that call.
        return via?.perCall || via?.state.kind === 'closed' ? undefined : via;
      },
      mayOwn: (id) => known === 'by session' && !isKnown(String(id)),
    }),
  };
}
