/** The format of a stored catalog: one line about the server and its other lists, then a line for each tool. */
import type { Interruptible } from '../event-loop.ts';
import type { Handshake } from '../upstream/handshake.ts';
import { isRecord } from '../wire/message.ts';
import type { ListedTool, Offer } from './listing.ts';

/** Version of the file format; files of another version are ignored and replaced. */
const FORMAT = 3;

/** The stored lists of one server. They hold only data that the server sent: no command, no environment, no header. */
export interface StoredCatalog {
  /** Lists by the set of client capabilities; the set seen last is the last entry. */
  bySet: ReadonlyMap<string, StoredOffer>;
  /** Time of the last listing, in epoch milliseconds. */
  at: number;
  /** True if the server changed definitions without changing its version. */
  unsteady?: boolean | undefined;
}

export interface StoredOffer {
  handshake: Handshake;
  offer: Offer;
  /** A digest of the folder that the server was started for, if its launch depends on one. */
  folder?: string | undefined;
}

/** The first line of a file. The other lines are the tools of all sets, in order. */
interface Head {
  at: number;
  unsteady: boolean;
  sets: SetHead[];
}

interface SetHead extends Omit<StoredOffer, 'offer'> {
  offered: string;
  offer: Omit<Offer, 'tools'>;
  /** The number of its tools, or the place of an earlier set with the same ones. */
  tools: number | { of: number };
}

/** Returns the text of a file; undefined if it quotes a secret. */
export function* writeCatalog(
  { at, bySet, unsteady }: StoredCatalog,
  quotesSecret: (text: string) => boolean,
): Interruptible<string | undefined> {
  const all = [...bySet.values()];
  const sets = [...bySet].map(
    (
      [
        offered,
        {
          handshake,
          offer: { tools, ...offer },
          folder,
        },
      ],
      place,
    ) => {
      const same = all.findIndex((one) => one.offer.tools === tools);
      // The id of a connection means nothing to another process.
      const hello = { ...handshake, conversation: undefined };
      return { offered, folder, hello, offer, tools: same < place ? { of: same } : tools.length };
    },
  );
  const head = JSON.stringify({ format: FORMAT, at, ...(unsteady === true && { unsteady }), sets });
  const lines = [head];
  if (quotesSecret(head)) return undefined;
  for (const tools of new Set(all.map(({ offer }) => offer.tools))) {
    for (const tool of tools) {
      const line = JSON.stringify(tool);
      if (quotesSecret(line)) return undefined;
      lines.push(line);
      yield;
    }
  }
  return lines.join('\n');
}

export function readHead(text: string): Head {
  const end = text.indexOf('\n');
  const value: unknown = JSON.parse(end < 0 ? text : text.slice(0, end));
  if (!isRecord(value) || value.format !== FORMAT) throw new Error('it has another format');
  const { at, sets } = value;
  if (typeof at !== 'number' || !Array.isArray(sets) || sets.length === 0) throw new Error(DAMAGED);
  return { at, unsteady: value.unsteady === true, sets: sets.map(readSet) };
}

const DAMAGED = 'it is damaged';

/** Reads a file. Each tool is a line of its own, so that thousands are read in steps. */
export function* readCatalog(text: string): Interruptible<StoredCatalog> {
  const { sets, ...head } = readHead(text);
  const lists: ListedTool[][] = [];
  let from = text.indexOf('\n') + 1;
  for (const { tools } of sets) {
    const known = typeof tools === 'object' ? lists[tools.of] : [];
    if (known === undefined) throw new Error(DAMAGED);
    for (let left = typeof tools === 'number' ? tools : 0; left > 0; left--) {
      if (from === 0) throw new Error(DAMAGED);
      const end = text.indexOf('\n', from);
      const tool: unknown = JSON.parse(text.slice(from, end < 0 ? text.length : end));
      if (!isListedTool(tool)) throw new Error(DAMAGED);
      known.push(tool);
      from = end + 1;
      yield;
    }
    lists.push(known);
  }
  const bySet = sets.map(({ offered, offer, tools: _, ...set }, place): [string, StoredOffer] => [
    offered,
    { ...set, offer: { ...offer, tools: lists[place] ?? [] } },
  ]);
  return { ...head, bySet: new Map(bySet) };
}

function readSet(value: unknown): SetHead {
  if (!isRecord(value)) throw new Error(DAMAGED);
  const { offered, hello, offer, folder, tools } = value;
  if (typeof offered !== 'string' || !isHello(hello) || !isOffer(offer) || !isToolCount(tools))
    throw new Error(DAMAGED);
  return { offered, handshake: hello, offer, tools, ...(typeof folder === 'string' && { folder }) };
}

function isToolCount(value: unknown): value is SetHead['tools'] {
  return Number.isSafeInteger(value) || (isRecord(value) && Number.isSafeInteger(value.of));
}

function isHello(value: unknown): value is Handshake {
  return isRecord(value) && isRecord(value.capabilities) && isRecord(value.serverInfo) && typeof value.era === 'string';
}

function isOffer(value: unknown): value is SetHead['offer'] {
  if (!isRecord(value)) return false;
  const { resources, templates, prompts } = value;
  return [resources, templates, prompts].every((list) => Array.isArray(list) && list.every(isRecord));
}

function isListedTool(value: unknown): value is ListedTool {
  return (
    isRecord(value) &&
    typeof value.upstreamName === 'string' &&
    isRecord(value.tool) &&
    typeof value.tool.name === 'string'
  );
}
