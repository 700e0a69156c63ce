/** MCP methods for tasks: forwards each request to the server that runs the task, for the client that created it. */
import { RpcError } from '../errors.ts';
import { TASKS_EXTENSION } from '../mcp/tasks.ts';
import type { RequestContext, Router, ServerView } from '../router/router.ts';
import { INVALID_PARAMS, isRecord, METHOD_NOT_FOUND, type Params } from '../wire/message.ts';
import { announcedExtensions } from './extensions.ts';
import type { Client, Method } from './front-interface.ts';
import { exposeOutcome } from './rewrite-uris.ts';

const ABOUT_ONE = ['tasks/get', 'tasks/result', 'tasks/update', 'tasks/cancel'];

/** Returns the servers with tasks; throws if there are none. */
async function serversWithTasks(method: string, { router, listed }: Client): Promise<ServerView[]> {
  await listed();
  const servers = router.servers().filter(hasTasks);
  if (servers.length === 0) throw unknown(method);
  return servers;
}

/**
 * Returns the server that runs the client's task, or the only server with tasks if the task may be this client's.
 * Throws if there are several.
 */
async function serverOf(method: string, id: unknown, client: Client): Promise<string> {
  const { tasks } = client.router;
  const names = (await serversWithTasks(method, client)).map(({ name }) => name);
  const known = tasks.servers(id).filter((name) => names.includes(name));
  const [only, ...others] = known.length === 0 && tasks.mayOwn(id) ? names : known;
  if (only !== undefined && others.length === 0) return only;
  if (known.length > 1) {
    const which = known.map((name) => `"${name}"`).join(' and ');
    throw new RpcError(INVALID_PARAMS, `task ${id} is ambiguous: ${which} have a task with this id`);
  }
  throw new RpcError(INVALID_PARAMS, `Task not found: ${id}`);
}

const relay =
  (method: string): Method =>
  async (params, way, client) => {
    const { router, settings } = client;
    const server = await serverOf(method, params.taskId, client);
    const name = String(params.taskId);
    const via = router.tasks.via(name, server);
    const answer = await router.forward({ ...way, via, server, kind: 'task', name, method, params });
    return exposeOutcome(answer, server, settings.naming.resources);
  };

async function listTasks(params: Params, way: RequestContext, client: Client): Promise<unknown> {
  const method = 'tasks/list';
  const { router } = client;
  const [only, ...others] = await serversWithTasks(method, client);
  if (only === undefined || others.length > 0) throw unknown(method);
  const result = await router.forward({ ...way, server: only.name, kind: 'task', name: '', method, params });
  if (!isRecord(result) || !Array.isArray(result.tasks)) return result;
  // A shared server lists the tasks of all its clients.
  const isOwn = (task: unknown) => isRecord(task) && router.tasks.servers(task.taskId).includes(only.name);
  return { ...result, tasks: result.tasks.filter(isOwn) };
}

export const TASK_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ...ABOUT_ONE.map((method): [string, Method] => [method, relay(method)]),
  ['tasks/list', listTasks],
]);

/** Returns further capabilities of a front: tasks, extensions and experimental ones of its servers. */
export function extrasOf(servers: ServerView[], router: Pick<Router, 'seesAll'>): Params {
  const all = servers.map(({ entry }) => entry.handshake?.capabilities ?? {});
  const [tasks, ...others] = all.map((one) => one.tasks).filter(isRecord);
  const { list: _, ...listless } = tasks ?? {};
  const extensions = announcedExtensions(servers, router);
  const experimental = all.length === 1 ? all[0]?.experimental : undefined;
  return {
    ...(tasks && { tasks: others.length === 0 ? tasks : listless }),
    ...(Object.keys(extensions).length > 0 && { extensions }),
    ...(isRecord(experimental) && { experimental }),
  };
}

function hasTasks({ entry }: ServerView): boolean {
  const { tasks, extensions } = entry.handshake?.capabilities ?? {};
  return isRecord(tasks) || (isRecord(extensions) && extensions[TASKS_EXTENSION] !== undefined);
}

function unknown(method: string): RpcError {
  return new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
}
