/** `mcpx serve`: the proxy itself, over stdio or HTTP. */
import { Console } from 'node:console';
import { type App, noProfile } from '../app/app.ts';
import type { Config } from '../config/config.ts';
import { McpxError } from '../errors.ts';
import { listenStdio } from '../listen/stdio.ts';
import { createLog, type Log } from '../observe/log.ts';
import { readListen } from './address.ts';
import type { Invocation } from './command.ts';
import type { OpenGateway } from './gateway.ts';
import { note } from './output.ts';
import { bindToProcess, ledgerFile, noteUnchosen, openApp, type ReadOptions, readConfig } from './session.ts';

/** A started `serve`, whatever it listens on. */
interface Served {
  app: App;
  config: Config;
  load(texts?: ReadonlyMap<string, string>): Config;
  log: Log;
}

/** ms after which a start is over. */
const STARTED = 200;

/**
 * A call crosses many small functions, and jumping between them is 3 % of its time: the compiler may make one piece of machine code of three times
 * as much as it does by itself. Not a flag of the process, under which V8 would refuse the code cache.
 */
async function inlineMore(): Promise<void> {
  const { setFlagsFromString } = await import('node:v8');
  setFlagsFromString('--max-inlined-bytecode-size-cumulative=3000');
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
  setTimeout(inlineMore, STARTED).unref();
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
  const { createAdministration } = await import('../app/admin.ts');
  const { aborted, openGateway } = await import('./gateway.ts');
  const { createReloading } = await import('./reloading.ts');
  let gateway: OpenGateway | undefined;
  const prepare = (next: Config) => gateway?.prepare(next) ?? (() => undefined);
  const reloading = createReloading({ app, config, load, prepare, log });
  const admin = config.files.length === 0 ? undefined : createAdministration({ reloader: reloading, load });
  gateway = await openGateway(app, config, { log, ...(admin && { admin }) });
  onHangup?.(() => {
    // Where the terminal is gone, writing fails, and that ends us.
    note('mcpx: reading the config again');
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
  // Whatever a dependency prints must not reach stdout, which belongs to JSON-RPC.
  globalThis.console = new Console(process.stderr, process.stderr);
  if (process.stdin.isTTY === true)
    note(
      'mcpx: waiting for an MCP client on stdin; Ctrl-C ends it. mcpx serve --http is a gateway, mcpx help shows more',
    );
  // Lists are made for the capabilities of the one client, when it has introduced itself.
  if (config.settings.connect.mode === 'eager') app.start();
  const reloading = config.settings.watch
    ? (await import('./reloading.ts')).createReloading({ app, config, load, prepare: keeps(profile), log })
    : undefined;
  await listenStdio({ gateway: app, profile, stop, maxBytes: config.settings.limits.messageBytes, log });
  reloading?.close();
}

/** A client on stdio cannot be given another profile. */
function keeps(profile: string): (config: Config) => () => void {
  return ({ profiles }) => {
    if (profiles.some(({ name, enabled }) => name === profile && enabled)) return () => undefined;
    const hint = 'restart the client to use another profile';
    throw new McpxError('config', `the profile "${profile}" is in use and not in the new config`, { hint });
  };
}
