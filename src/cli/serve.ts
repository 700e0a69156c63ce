/** `mcpx serve`: runs the proxy over stdio or HTTP. */
import { Console } from 'node:console';
import { type App, noProfile } from '../app/app.ts';
import type { Config } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { listenStdio } from '../listen/stdio.ts';
import { createLog, type Log } from '../observe/log.ts';
import { readListen } from './address.ts';
import type { Invocation } from './command.ts';
import { bindToProcess, ledgerFile, noteUnchosen, openApp, type ReadOptions, readConfig } from './command-app.ts';
import { note } from './output.ts';
import type { OpenGateway } from './start-gateway.ts';

/** A started `serve`, over stdio or HTTP. */
interface Served {
  app: App;
  config: Config;
  load(texts?: ReadonlyMap<string, string>): Config;
  log: Log;
}

export async function run(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  const listen = readListen(flags);
  const { http, host, port } = listen;
  const load = (more: ReadOptions) => readConfig(flags, { file: args[0] ?? listen.file, host, port, http, ...more });
  const config = load({ bootstrap: true, logs: true });
  noteUnchosen(config);
  const log = createLog(config.settings.log);
  const app = openApp(config, log, { counts: ledgerFile(), resumable: http });
  bindToProcess(app, invocation);
  try {
    await (http ? serveHttp : serveStdio)(
      { app, config, load: (texts) => load({ texts, quiet: texts !== undefined }), log },
      invocation,
    );
    return 0;
  } finally {
    await app.stop();
  }
}

async function serveHttp({ app, config, load, log }: Served, { stop, onHangup }: Invocation): Promise<void> {
  const { createAdministration } = await import('../app/server-edits.ts');
  const { aborted, openGateway } = await import('./start-gateway.ts');
  const { createReloading } = await import('./reload-triggers.ts');
  let gateway: OpenGateway | undefined;
  const prepare = (next: Config) => gateway?.prepare(next) ?? (() => undefined);
  const reloading = createReloading({ app, config, load, prepare, log });
  const admin = config.files.length === 0 ? undefined : createAdministration({ reloader: reloading, load });
  gateway = await openGateway(app, config, { log, ...(admin && { admin }) });
  onHangup?.(() => {
    // If the terminal is closed, this write fails and ends the process.
    note('mcpx: reloading the config');
    reloading.reload('SIGHUP').catch(() => undefined);
  });
  note(`mcpx: listening on ${gateway.listener.url}/mcp`);
  if (config.settings.http.statusPage) note(`mcpx: status page at ${gateway.listener.url}/`);
  await aborted(stop);
  reloading.close();
  await gateway.listener.close();
}

async function serveStdio({ app, config, load, log }: Served, { stop }: Invocation): Promise<void> {
  const profile = app.mainProfile;
  if (profile === undefined) throw noProfile(app.profileWord());
  // Output of dependencies must not reach stdout, which carries JSON-RPC.
  globalThis.console = new Console(process.stderr, process.stderr);
  if (process.stdin.isTTY === true)
    note(
      'mcpx: waiting for an MCP client on stdin. Ctrl-C stops it. To serve over HTTP: mcpx serve --http. Help: mcpx help',
    );
  // In lazy mode, servers are listed after the handshake, with the capabilities of the only client.
  if (config.settings.connect.mode === 'eager') app.start();
  const reloading = config.settings.watch
    ? (await import('./reload-triggers.ts')).createReloading({ app, config, load, prepare: keeps(profile), log })
    : undefined;
  await listenStdio({ gateway: app, profile, stop, maxBytes: config.settings.limits.messageBytes, log });
  reloading?.close();
}

/** Vetoes a reload that removes or disables the profile of the client on stdio. */
function keeps(profile: string): (config: Config) => () => void {
  return ({ profiles }) => {
    if (profiles.some(({ name, enabled }) => name === profile && enabled)) return () => undefined;
    const hint = 'restart the client to use another profile';
    throw new McpxError('config', `the profile "${profile}" is in use, but the new config removes or disables it`, {
      hint,
    });
  };
}
