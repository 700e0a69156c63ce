/** The library of the npm package: runs the servers of a config inside a program. The executable does not contain it. */
import { join, resolve } from 'node:path';
import { createApp as createGateway } from './app/app.ts';
import type { Tool } from './catalog/listing.ts';
import { loadConfig } from './config/load.ts';
import { McpxError } from './errors.ts';
import { createLog, SILENT } from './observe/log.ts';
import type { ToolResult } from './router/router.ts';
import { STOP_FAST } from './upstream/transports/transport.ts';
import { VERSION } from './version.ts';

export interface AppOptions {
  /** The folder for relative paths in the config (default: the working directory). */
  folder?: string;
  /** The profile to use (default: "default", or the first enabled one). */
  profile?: string;
  /** Receives log lines; without it, nothing is logged. */
  log?: (line: string) => void;
}

export interface ListedTool extends Tool {
  server: string;
}

export interface McpxApp {
  /** Lists the tools of all servers, and starts the servers if necessary. */
  tools(): Promise<ListedTool[]>;
  /** Calls a tool, such as `time.now`. Throws if the call is refused or fails; a tool error is a result with `isError`. */
  call(target: string, args?: object, options?: { signal?: AbortSignal }): Promise<ToolResult>;
  /** Sends an MCP request, such as `tools/list`, as a client of mcpx. */
  request(method: string, params?: Record<string, unknown>, options?: { signal?: AbortSignal }): Promise<unknown>;
  /** Ends all servers. */
  stop(): Promise<void>;
}

export { McpxError, VERSION };

/** Runs the servers of a config of any accepted shape. Throws `McpxError` with the code `config` if it has a mistake. */
export function createApp(config: object, { folder = '.', profile, log }: AppOptions = {}): McpxApp {
  const file = join(resolve(folder), 'config of createApp');
  const texts = new Map([[file, JSON.stringify(config)]]);
  const overrides = profile === undefined ? {} : { profile };
  const loaded = loadConfig({ files: [file], texts, overrides }).config;
  const app = createGateway(loaded, { log: log === undefined ? SILENT : createLog({ write: log }) });
  const session = app.open({
    profile: profile ?? app.mainProfile ?? 'default',
    downstream: { key: 'library', notify: () => undefined },
  });
  const never = new AbortController().signal;
  return {
    async tools() {
      await app.listed(profile, undefined, 'tools');
      const servers = app.router(profile).servers();
      return servers.flatMap(({ name, tools }) => tools.map((tool) => ({ server: name, ...tool })));
    },
    async call(target, args = {}, { signal = never } = {}) {
      const dot = target.indexOf('.');
      if (dot < 1) throw new McpxError('usage', `"${target}" names no tool`, { hint: 'write "server.tool"' });
      const [server, tool] = [target.slice(0, dot), target.slice(dot + 1)];
      const caller = { key: 'library', capabilities: {} };
      return app.router(profile).call({ server, tool, arguments: args, caller, signal });
    },
    request: (method, params = {}, { signal = never } = {}) => session.front.request({ method, params }, { signal }),
    async stop() {
      session.close();
      await app.stop(STOP_FAST);
    },
  };
}
