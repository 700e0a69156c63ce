/** What one client has experienced with tools: which failed, and the arguments that last worked, without secrets. */
import { isLarger } from '../render/size.ts';
import { isRecord, type Params } from '../wire/message.ts';
import { withoutSecrets } from './masked.ts';

export interface Experience {
  worked(server: string, tool: string, args: unknown): void;
  failed(server: string, tool: string): void;
  hasFailed(server: string, tool: string): boolean;
  /** Arguments that worked; credentials in them are replaced. */
  lastArguments(server: string, tool: string): Params | undefined;
}

const MAX_TOOLS = 200;
/** Characters of arguments that are worth repeating. */
const MAX_ARGUMENTS = 600;

interface Entry {
  failed: boolean;
  args?: Params;
}

/** Belongs to one client: what somebody else passed to a tool is nobody's business. */
export function createExperience(): Experience {
  /** The least recently used first. */
  const entries = new Map<string, Entry>();
  const keyOf = (server: string, tool: string) => `${server}.${tool}`;
  const set = (key: string, change: Partial<Entry>) => {
    const entry = { failed: false, ...entries.get(key), ...change };
    entries.delete(key);
    entries.set(key, entry);
    const [oldest] = entries.keys();
    if (entries.size > MAX_TOOLS && oldest !== undefined) entries.delete(oldest);
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
