/** Remembers, for one client, the tools that failed and the arguments that last worked, without credentials. */
import { BoundedMap } from '../bounded-map.ts';
import { isLarger } from '../render/json-size.ts';
import { isRecord, type Params } from '../wire/message.ts';
import { withoutSecrets } from './redact-arguments.ts';

export interface CallHistory {
  worked(server: string, tool: string, args: unknown): void;
  failed(server: string, tool: string): void;
  hasFailed(server: string, tool: string): boolean;
  /** Arguments of the last successful call, with credentials replaced. */
  lastArguments(server: string, tool: string): Params | undefined;
}

const MAX_TOOLS = 200;
/** Maximum size of remembered arguments, in characters of JSON. */
const MAX_ARGUMENTS = 600;

interface Entry {
  failed: boolean;
  args?: Params;
}

/** Creates the history of one client; clients never see each other's arguments. */
export function createCallHistory(): CallHistory {
  /** Entries in order of use, the least recently used first. */
  const entries = new BoundedMap<string, Entry>(MAX_TOOLS);
  const keyOf = (server: string, tool: string) => `${server}.${tool}`;
  const set = (key: string, change: Partial<Entry>) => {
    const entry = { failed: false, ...entries.get(key), ...change };
    entries.set(key, entry);
  };
  return {
    worked(server, tool, args) {
      if (!isRecord(args) || isLarger(args, MAX_ARGUMENTS)) return;
      set(keyOf(server, tool), { args: withoutSecrets(args) as Params });
    },
    failed: (server, tool) => set(keyOf(server, tool), { failed: true }),
    hasFailed: (server, tool) => entries.get(keyOf(server, tool))?.failed === true,
    lastArguments: (server, tool) => entries.get(keyOf(server, tool))?.args,
  };
}
