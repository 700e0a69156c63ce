/** Work that servers go on with after their answer: which server does it, and for whom. Nobody else learns of it. */
import { isRecord } from '../wire/message.ts';

/** The tasks of one client. */
export interface OwnTasks {
  /** Takes note of a task that the result of a call announces. */
  note(server: string, result: unknown): void;
  /** The server that does it; undefined for a task of somebody else, or one from before this process. */
  server(id: unknown): string | undefined;
  /** Whether it may be a task of this client all the same: where there are no tokens, everybody is the same person. */
  mayOwn(id: unknown): boolean;
}

export interface Tasks {
  of(client: { holder: string; known: 'by token' | 'by session' }): OwnTasks;
}

/** The oldest are forgotten first. */
const MAX_TASKS = 10_000;

export function createTasks(): Tasks {
  const tasks = new Map<string, { server: string; holder: string }>();
  return {
    of: ({ holder, known }) => ({
      note(server, result) {
        const id = idIn(result);
        if (id === undefined) return;
        const [oldest] = tasks.keys();
        if (tasks.size >= MAX_TASKS && oldest !== undefined) tasks.delete(oldest);
        tasks.set(id, { server, holder });
      },
      server(id) {
        const found = tasks.get(String(id));
        return found?.holder === holder ? found.server : undefined;
      },
      mayOwn: (id) => known === 'by session' && !tasks.has(String(id)),
    }),
  };
}

/** At the top in the modern era, inside `task` in the one before. */
function idIn(result: unknown): string | undefined {
  if (!isRecord(result)) return undefined;
  const { taskId } = isRecord(result.task) ? result.task : result.resultType === 'task' ? result : {};
  return typeof taskId === 'string' ? taskId : undefined;
}
