/** Remembers, for one client, the tools that failed and the arguments that last worked; shows them without credentials. */
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
  /** Returns the entry of a tool, as the most recently used one. */
  const used = (server: string, tool: string): Entry => {
    const key = keyOf(server, tool);
    const entry = entries.get(key) ?? { failed: false };
    entries.set(key, entry);
    return entry;
  };
  return {
    worked(server, tool, args) {
      if (isRecord(args) && !isLarger(args, MAX_ARGUMENTS)) used(server, tool).args = args;
    },
    failed(server, tool) {
      used(server, tool).failed = true;
    },
    hasFailed: (server, tool) => entries.get(keyOf(server, tool))?.failed === true,
    // Credentials are replaced here and not in `worked`, which runs after every call.
    lastArguments(server, tool) {
      const args = entries.get(keyOf(server, tool))?.args;
      return args && (withoutSecrets(args) as Params);
    },
  };
}
