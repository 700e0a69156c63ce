/** The table of transports by server type. Each is loaded when it is first used. */
import type { Launch } from '../../config/env.ts';
import type { LaunchOf, Transport, TransportOptions } from './transport.ts';

type Opener<T extends Launch['type']> = (launch: LaunchOf<T>, options: TransportOptions) => Promise<Transport>;

const TRANSPORTS = {
  stdio: async (launch, options) => (await import('./stdio.ts')).openStdio(launch, options),
  builtin: async (launch) => (await import('./builtin.ts')).openBuiltin(launch.builtin),
  http: async (launch, options) => (await import('./http.ts')).openHttp(launch, options),
  auto: async (launch, options) => (await import('./http-or-sse.ts')).openAuto(launch, options),
  sse: async (launch, options) => (await import('./sse.ts')).openSse(launch, options),
  ws: async (launch, options) => (await import('./ws.ts')).openWs(launch, options),
  module: async (launch, options) => (await import('./module.ts')).openModule(launch, options),
} satisfies { [T in Launch['type']]: Opener<T> };

export function openTransport(launch: Launch, options: TransportOptions): Promise<Transport> {
  const open = TRANSPORTS[launch.type] as Opener<typeof launch.type>;
  return open(launch as never, options);
}
