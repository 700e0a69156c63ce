/** The setting `offline`: remote URLs are refused, and programs that download servers use only what they have stored. */
import type { ServerSpec } from '../../config/config.ts';
import type { Launch } from '../../config/env.ts';
import { McpxError } from '../../errors.ts';
import { launcherOf } from '../process/launcher.ts';
import type { LaunchOf } from '../transports/transport.ts';

type StdioLaunch = LaunchOf<'stdio'>;

const GO_ONLINE = 'set "offline": false in the config, or unset MCPX_OFFLINE';

/** The variables with which a launcher uses its cache only. Launchers without such a variable or option are missing. */
const VARIABLES: Readonly<Record<string, Record<string, string>>> = {
  npx: { npm_config_offline: 'true' },
  npm: { npm_config_offline: 'true' },
  pnpx: { npm_config_offline: 'true', pnpm_config_offline: 'true' },
  pnpm: { npm_config_offline: 'true', pnpm_config_offline: 'true' },
  uvx: { UV_OFFLINE: '1' },
  uv: { UV_OFFLINE: '1' },
  go: { GOPROXY: 'off', GOTOOLCHAIN: 'local' },
};
const CONTAINERS = ['docker', 'podman', 'nerdctl'];

/** Returns the launch as it is offline. Throws McpxError('config') for a server that would need the network. */
export function stayOffline(spec: ServerSpec, launch: Launch): Launch {
  if ('url' in launch) refuseRemote(spec, launch.url);
  const launcher = launcherOf(spec);
  if (launch.type !== 'stdio' || launcher === undefined) return launch;
  if (CONTAINERS.includes(launcher)) return { ...launch, args: withoutPull(spec, launcher, launch) };
  const variables = VARIABLES[launcher];
  if (variables !== undefined) return { ...launch, env: withVariables(launch.env, variables) };
  const message = `server "${spec.name}" is not started: mcpx is offline, and ${launcher} has no offline mode`;
  throw new McpxError('config', message, {
    hint: `install the server, and set its program as "command"; or ${GO_ONLINE}`,
  });
}

/** Adds a hint to the failure of a launcher that ran and was not allowed to download. */
export function explainOffline(spec: ServerSpec, error: unknown): unknown {
  const launcher = launcherOf(spec);
  if (launcher === undefined || !(error instanceof McpxError) || error.code !== 'unreachable') return error;
  if ((error.cause as NodeJS.ErrnoException | undefined)?.syscall?.startsWith('spawn') === true) return error;
  const { fault, data } = error;
  const hint = `offline, ${launcher} uses only what it has stored: start the server once with "offline": false`;
  return new McpxError(error.code, error.message, { hint, fault, data, cause: error.cause ?? error });
}

/** Loopback URLs are still allowed. */
function refuseRemote({ name }: ServerSpec, url: string): void {
  const { hostname } = new URL(url);
  if (/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)) return;
  throw new McpxError('config', `server "${name}" is not contacted: mcpx is offline`, { hint: GO_ONLINE });
}

/** Package managers read their variables in upper case too. */
function withVariables(env: StdioLaunch['env'], variables: StdioLaunch['env']): StdioLaunch['env'] {
  const names = Object.keys(variables).map((name) => name.toLowerCase());
  const others = Object.entries(env).filter(([name]) => !names.includes(name.toLowerCase()));
  return { ...Object.fromEntries(others), ...variables };
}

/** A later `--pull` of the entry would win over ours. */
function withoutPull({ name }: ServerSpec, launcher: string, { args }: StdioLaunch): string[] {
  const at = args.indexOf('run') + 1;
  const pull = args.find((word, index) => index >= at && /^--pull(?:=(?!never$)|$)/.test(word));
  if (pull === undefined) return [...args.slice(0, at), '--pull=never', ...args.slice(at)];
  const message = `server "${name}" is not started: mcpx is offline, and its "args" have "${pull}"`;
  throw new McpxError('config', message, {
    hint: `take "${pull}" out of "args": ${launcher} uses the images that it has`,
  });
}
