/** Starts one server of the config once and lists its tools, to show whether it works. */
import { performance } from 'node:perf_hooks';
import type { Config } from '../config/config.ts';
import { type ErrorCode, toMcpxError } from '../errors.ts';
import type { Invocation } from './command.ts';
import { type Started, startOnce } from './start-once.ts';

export type Trial =
  | { ok: true; tools: number; ms: number }
  | { ok: false; ms: number; code: ErrorCode; error: string; hint?: string };

/** Returns undefined if no enabled profile has the server. A stopped command rejects with `cancelled`. */
export async function tryServer(name: string, config: Config, invocation: Invocation): Promise<Trial | undefined> {
  const began = performance.now();
  const look = async ({ entry }: Started): Promise<Trial> => {
    const ms = Math.round(performance.now() - began);
    const known = entry();
    if (known?.listing.kind === 'listed') return { ok: true, tools: known.offer.tools.length, ms };
    const { code, message, hint } = toMcpxError(known?.listing.kind === 'failed' ? known.listing.error : 'not listed');
    return { ok: false, ms, code, error: message, ...(hint !== undefined && { hint }) };
  };
  const [trial] = (await startOnce(config, invocation, look, name)).values();
  return trial;
}
