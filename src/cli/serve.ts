/** `mcpx serve`: the proxy itself, over stdio or HTTP. */
import { Console } from 'node:console';
import { McpxError } from '../errors.ts';
import { listenStdio } from '../listen/stdio.ts';
import { createLog } from '../observe/log.ts';
import { readListen } from './address.ts';
import type { Invocation } from './command.ts';
import { note } from './output.ts';
import { bindToProcess, ledgerFile, openApp, readConfig } from './session.ts';

export async function run({ args, flags, stop, ...lifecycle }: Invocation): Promise<number> {
  const listen = readListen(flags);
  const { http, host, port } = listen;
  const config = readConfig(flags, { bootstrap: true, file: args[0] ?? listen.file, host, port, http });
  const log = createLog(config.settings.log);
  const app = openApp(config, log, { counts: ledgerFile() });
  bindToProcess(app, lifecycle);
  try {
    if (http) {
      const { aborted, openGateway } = await import('./gateway.ts');
      const listener = await openGateway(app, config, log);
      note(`mcpx: listening on ${listener.url}/mcp`);
      await aborted(stop);
      await listener.close();
      return 0;
    }
    const profile = app.mainProfile;
    if (profile === undefined)
      throw new McpxError('config', 'no profile is enabled', { hint: 'enable one under "profiles" in the config' });
    // Whatever a dependency prints must not reach stdout, which belongs to JSON-RPC.
    globalThis.console = new Console(process.stderr, process.stderr);
    // Lists are made for the capabilities of the one client, when it has introduced itself.
    if (config.settings.connect.mode === 'eager') app.start();
    await listenStdio({ gateway: app, profile, stop, maxBytes: config.settings.limits.messageBytes, log });
    return 0;
  } finally {
    await app.stop();
  }
}
