/** List requests of one server in progress: concurrent requests for the same list share one, and each list fails on its own. */
import { McpxError, messageOf, RpcError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { clean, cut, oneLine } from '../render/text.ts';
import type { Handshake } from '../upstream/handshake.ts';
import { reuseKnown } from './changed-lists.ts';
import {
  type Listed,
  type ListedTools,
  listOther,
  listTools,
  type Offer,
  OTHER_LISTS,
  OTHERS,
  type OtherList,
} from './listing.ts';
import { knownTo, type Lister, type ServerState } from './server-state.ts';

/** A request for one list. */
interface ListRequest {
  /** The id of the connection it was sent on; undefined if each request has its own connection. */
  conversation: string | undefined;
  offered: string;
}

export interface ToolsRequest extends ListRequest {
  done: Promise<ListedTools>;
}

/** A request for one of the lists other than tools. */
export interface OtherRequest extends ListRequest {
  list: OtherList;
  /** Monotonic time of its start, in milliseconds. */
  since: number;
  /** Resolves when it was answered or has failed. */
  done: Promise<void>;
  /** The response; undefined until it arrives. */
  listed?: Listed;
  error?: unknown;
  /** True if the list was requested again in the meantime: the response may be older than the announced change. */
  again: boolean;
}

/** Lists tools. Concurrent requests of the same kind share one, such as a call and the listing of a new connection. */
export function requestTools(slot: ServerState, connection: Lister, began: Handshake, log: Log): Promise<ListedTools> {
  const key = keyOf(connection, began);
  const underWay = [...slot.toolLists].find(isSame(key));
  if (underWay !== undefined) return underWay.done;
  const known = () => knownTo(slot, connection.offered).offer.tools;
  const done = listTools(connection, began, log).then(async ({ tools, freshFor }) => ({
    tools: await reuseKnown(tools, known(), ({ tool }) => tool.name),
    freshFor,
  }));
  const request = { ...key, done };
  const over = () => slot.toolLists.delete(request);
  slot.toolLists.add(request);
  request.done.then(over, over);
  return request.done;
}

/**
 * Requests each of the lists other than tools. A request in progress is not repeated, because a server may never answer
 * it.
 */
export function requestOthers(slot: ServerState, connection: Lister, began: Handshake, log: Log): OtherRequest[] {
  const key = keyOf(connection, began);
  return OTHER_LISTS.map((list) => {
    const underWay = [...slot.otherLists].find((one) => one.list === list && isSame(key)(one));
    if (underWay !== undefined) return Object.assign(underWay, { again: true });
    const known = () => knownTo(slot, connection.offered).offer[list];
    const answer = listOther(list, connection, began, log).then(async ({ items, freshFor }) => ({
      items: await reuseKnown(items, known(), ({ uri, uriTemplate, name }) => uri ?? uriTemplate ?? name),
      freshFor,
    }));
    const request: OtherRequest = { ...key, list, since: performance.now(), again: false, done: Promise.resolve() };
    slot.otherLists.add(request);
    request.done = answer
      .then(
        (listed) => Object.assign(request, { listed }),
        (error) => Object.assign(request, { error }),
      )
      .then(() => void slot.otherLists.delete(request));
    return request;
  });
}

function keyOf({ offered, perCall }: Lister, began: Handshake): ListRequest {
  return { offered, conversation: perCall ? undefined : began.conversation };
}

function isSame({ conversation, offered }: ListRequest): (other: ListRequest) => boolean {
  return (other) => other.conversation === conversation && other.offered === offered;
}

/** The reason while no response has arrived. */
const NOT_YET = 'not answered yet';
/** Maximum characters of another reason, which may be a message of the server. */
const MAX_REASON = 300;

/** Returns an offer with the answered lists; the others keep their known items and are recorded as unanswered. */
export function offerWith(known: Offer, others: readonly OtherRequest[], tools?: ListedTools): Offer {
  const { freshFor: _, unanswered, ...lists } = known;
  const offer: Offer = { ...lists, ...(tools && { tools: tools.tools }) };
  const open = { ...unanswered };
  for (const { list, listed, error } of others) {
    if (listed === undefined)
      open[list] = error === undefined ? NOT_YET : cut(oneLine(clean(messageOf(error))), MAX_REASON);
    else {
      offer[list] = listed.items;
      delete open[list];
    }
  }
  const freshFor = Math.min(tools?.freshFor ?? 0, ...others.map(({ listed }) => listed?.freshFor ?? 0));
  return {
    ...offer,
    ...(Number.isFinite(freshFor) && freshFor > 0 && { freshFor }),
    ...(Object.keys(open).length > 0 && { unanswered: open }),
  };
}

/** Returns the lists that a server did not answer, with reasons, such as `prompts/list: database is locked`. */
export function unansweredLists({ unanswered = {} }: Offer): string[] {
  return OTHER_LISTS.flatMap((list) => {
    const why = unanswered[list];
    return why === undefined ? [] : [`${OTHERS[list].method}: ${why}`];
  });
}

/** Returns the error of a failed `tools/list`, with the server's name added to a message of the server. */
export function toolsFailure(server: string, error: unknown): unknown {
  if (!(error instanceof RpcError)) return error;
  return new McpxError('protocol', `server "${server}" did not list its tools: ${error.message}`, { cause: error });
}

/** Returns the milliseconds between a failed list and the retry, which double each time. */
export function retryPause(failures: number): number {
  return Math.min(5000 * 2 ** (failures - 1), 300_000);
}
