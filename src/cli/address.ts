/** Parses the listen address from `--http [host:port]`, `--host` and `--port`. The latter two win. */
import { McpxError } from '../errors.ts';
import type { Flags } from './command.ts';

export interface Listen {
  /** True if HTTP was requested; `--host` and `--port` imply it. */
  http: boolean;
  host?: string;
  port?: string;
  /** The config file that was written in place of an address, as in `--http my.json`. */
  file?: string;
}

export function readListen(flags: Flags): Listen {
  const address = flags.value('http');
  const isFile = address !== undefined && /\.jsonc?$/.test(address);
  const parts = address === undefined || isFile ? undefined : split(address);
  const host = flags.value('host') ?? parts?.host;
  const port = flags.value('port') ?? parts?.port;
  if (port !== undefined && !isPort(port)) {
    throw new McpxError('usage', `"${port}" is not a port`, {
      hint: 'a port is a number from 0 to 65535; 0 selects any free port',
    });
  }
  return {
    http: flags.has('http') || flags.has('host') || flags.has('port'),
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...(isFile && { file: address }),
  };
}

/** A host that begins with a digit and has no dot is a mistyped port. */
const MISTYPED_PORT = /^\d[^.]*$/;

/** Splits `127.0.0.1:3095`, `[::1]:3095`, `:3095`, `3095` or a host alone. */
function split(address: string): { host?: string; port?: string } {
  if (/^\d+$/.test(address)) return { port: address };
  const match = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d+))?$/.exec(address);
  if (match === null || MISTYPED_PORT.test(match[2] ?? '')) {
    throw new McpxError('usage', `"${address}" is not an address`, {
      hint: 'write it as host:port, such as --http 127.0.0.1:3095',
    });
  }
  const host = match[1] ?? match[2];
  return { ...(host && { host }), ...(match[3] !== undefined && { port: match[3] }) };
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
}
