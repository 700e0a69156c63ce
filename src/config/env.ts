/** Placeholders, env files and the inherited environment: turns a `ServerSpec` into what is really launched, at launch time. */
import type { ServerSpec, Settings } from './config.ts';

/** A server with every placeholder replaced. Holds secrets: never logged, never stored. */
export type Launch =
  | {
      type: 'stdio';
      /** Absolute, or a bare name for PATH. */
      command: string;
      args: string[];
      /** The complete environment of the child. */
      env: Record<string, string>;
      cwd: string | undefined;
      framing: 'newline' | 'content-length';
    }
  | { type: 'http' | 'sse' | 'ws' | 'auto'; url: string; headers: Record<string, string> }
  | { type: 'module'; module: string }
  | { type: 'builtin'; builtin: string };

export interface LaunchContext {
  inheritEnv: Settings['connect']['inheritEnv'];
  /** The first root of the client, where it sent roots; the working directory otherwise. */
  workspaceFolder?: string;
}

/** Throws McpxError('config') naming every missing variable; that one server is then misconfigured and the rest run. */
export function resolveLaunch(_spec: ServerSpec, _context: LaunchContext): Launch {
  throw new Error('being written');
}
