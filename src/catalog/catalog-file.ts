/** The format of a stored catalog: one line about the server, then a line for each item of its lists. */
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

/** The first line of a file. The other lines are the items of the lists of all sets, in order. */
interface Head {
  at: number;
  unsteady: boolean;
  sets: SetHead[];
}

interface SetHead extends Omit<StoredOffer, 'offer'> {
  offered: string;
  offer: Omit<Offer, ListName>;
  lists: Record<ListName, Stored>;
}

/** The number of items of a list, or the place of an earlier set with the same list. */
type Stored = number | { of: number };

const LISTS = ['tools', 'resources', 'templates', 'prompts'] as const;
type ListName = (typeof LISTS)[number];

/** Returns the text of a file; undefined if it quotes a secret. */
export function* writeCatalog(
  { at, bySet, unsteady }: StoredCatalog,
  quotesSecret: (text: string) => boolean,
): Interruptible<string | undefined> {
  const offers = [...bySet.values()].map(({ offer }) => offer);
  const written: object[][] = [];
  const sets = [...bySet].map(([offered, { handshake, offer, folder }], place) => {
    const lists = LISTS.map((name): [ListName, Stored] => {
      const same = offers.findIndex((other) => other[name] === offer[name]);
      if (same < place) return [name, { of: same }];
      written.push(offer[name]);
      return [name, offer[name].length];
    });
    const { tools: _, resources: __, templates: ___, prompts: ____, ...more } = offer;
    // The id of a connection means nothing to another process.
    const hello = { ...handshake, conversation: undefined };
    return { offered, folder, hello, offer: more, lists: Object.fromEntries(lists) };
  });
  const lines = [JSON.stringify({ format: FORMAT, at, ...(unsteady === true && { unsteady }), sets })];
  if (quotesSecret(lines[0] ?? '')) return undefined;
  for (const item of written.flat()) {
    const line = JSON.stringify(item);
    if (quotesSecret(line)) return undefined;
    lines.push(line);
    yield;
  }
  return lines.join('\n');
}

/** Reads the first line of a file, or of its beginning. */
export function readHead(text: string): Head {
  const end = text.indexOf('\n');
  const value: unknown = JSON.parse(end < 0 ? text : text.slice(0, end));
  if (!isRecord(value) || value.format !== FORMAT) throw new Error('it has another format');
  const { at, sets } = value;
  if (typeof at !== 'number' || !Array.isArray(sets) || sets.length === 0) throw new Error(DAMAGED);
  return { at, unsteady: value.unsteady === true, sets: sets.map(readSet) };
}

const DAMAGED = 'it is damaged';

/** Reads a file. Each item is a line of its own, so that thousands are read in steps. */
export function* readCatalog(text: string): Interruptible<StoredCatalog> {
  const { sets, ...head } = readHead(text);
  const offers: Offer[] = [];
  const lines = linesOf(text);
  for (const { offer, lists } of sets) {
    const read: Record<ListName, unknown[]> = { tools: [], resources: [], templates: [], prompts: [] };
    for (const name of LISTS) {
      const count = lists[name];
      if (typeof count === 'object') read[name] = offers[count.of]?.[name] ?? damaged();
      else read[name] = yield* readItems(lines, count, name === 'tools' ? isListedTool : isRecord);
    }
    offers.push({ ...offer, ...(read as unknown as Pick<Offer, ListName>) });
  }
  const bySet = sets.map(({ offered, handshake, folder }, place): [string, StoredOffer] => [
    offered,
    { handshake, offer: offers[place] ?? damaged(), ...(folder !== undefined && { folder }) },
  ]);
  return { ...head, bySet: new Map(bySet) };
}

function* readItems(
  lines: Iterator<string>,
  count: number,
  isItem: (value: unknown) => boolean,
): Interruptible<unknown[]> {
  const items: unknown[] = [];
  while (items.length < count) {
    const line = lines.next();
    const item: unknown = line.done ? damaged() : JSON.parse(line.value);
    if (!isItem(item)) damaged();
    items.push(item);
    yield;
  }
  return items;
}

/** Returns the lines after the first one. */
function* linesOf(text: string): Generator<string, undefined> {
  for (let from = text.indexOf('\n') + 1; from > 0; ) {
    const end = text.indexOf('\n', from);
    yield text.slice(from, end < 0 ? text.length : end);
    from = end + 1;
  }
}

function damaged(): never {
  throw new Error(DAMAGED);
}

function readSet(value: unknown): SetHead {
  if (!isRecord(value)) return damaged();
  const { offered, hello, offer, folder, lists } = value;
  if (typeof offered !== 'string' || !isHello(hello) || !isRecord(offer) || !areLists(lists)) return damaged();
  return { offered, handshake: hello, offer, lists, ...(typeof folder === 'string' && { folder }) };
}

function areLists(value: unknown): value is SetHead['lists'] {
  const isStored = (one: unknown) => Number.isSafeInteger(isRecord(one) ? one.of : one);
  return isRecord(value) && LISTS.every((name) => isStored(value[name]));
}

function isHello(value: unknown): value is Handshake {
  return isRecord(value) && isRecord(value.capabilities) && isRecord(value.serverInfo) && typeof value.era === 'string';
}

function isListedTool(value: unknown): value is ListedTool {
  return (
    isRecord(value) &&
    typeof value.upstreamName === 'string' &&
    isRecord(value.tool) &&
    typeof value.tool.name === 'string'
  );
}
