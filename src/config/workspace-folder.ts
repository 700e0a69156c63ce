/** `${workspaceFolder}` in server entries: whether a server uses it, and the folder that it starts in. */
import type { ServerSpec } from './config.ts';
import { environmentOf } from './environment.ts';

/** Returns true if the launch depends on the client's workspace folder. */
export function usesWorkspace(spec: ServerSpec): boolean {
  return JSON.stringify(spec).includes('${workspaceFolder');
}

/** Returns the folder that the launch depends on; undefined if it depends on none. */
export function launchFolder(spec: ServerSpec, workspaceFolder: string | undefined): string | undefined {
  return usesWorkspace(spec) ? (workspaceFolder ?? environmentOf().cwd) : undefined;
}
