/** The lists of one server that are under way: each is asked for once for all who want it at the same time, and each stands alone. */
import { McpxError, messageOf, RpcError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { clean, cut, oneLine } from '../render/text.ts';
import type { Hello } from '../upstream/connection.ts';
import {
  type Listed,
  type ListedTools,
  listOther,
  listTools,
  type Offer,
  OTHER_LISTS,
  OTHERS,
  type OtherList,
} from './list.ts';
import type { Lister, Slot } from './slot.ts';

/** A request for one list. */
interface ListRequest {
  /** The beginning of the conversation in which it was asked for; undefined where each request has its own. */
  hello: Hello | undefined;
  offered: string;
}

export interface ToolsRequest extends ListRequest {
  done: Promise<ListedTools>;
}

/** A request for one of the lists beside the tools. */
export interface OtherRequest extends ListRequest {
  list: OtherList;
  /** Monotonic ms of its beginning. */
  since: number;
  /** Resolves when it was answered or has failed. */
  done: Promise<void>;
  /** The answer; undefined until then. */
  listed?: Listed;
  error?: unknown;
  /** Somebody asked for it while it was under way: its answer may be older than the change that was announced. */
  again: boolean;
}

/** Lists tools, once for all who want the same at the same time: a call, and the list that every new connection begins with. */
export function requestTools(slot: Slot, connection: Lister, began: Hello, log: Log): Promise<ListedTools> {
  const key = keyOf(connection, began);
  const underWay = [...slot.toolLists].find(isSame(key));
  if (underWay !== undefined) return underWay.done;
  const request = { ...key, done: listTools(connection, began, log) };
  const over = () => slot.toolLists.delete(request);
  slot.toolLists.add(request);
  request.done.then(over, over);
  return request.done;
}

/** Asks for each of the lists beside the tools. One that is still under way is not asked for twice: a server may never answer it. */
export function requestOthers(slot: Slot, connection: Lister, began: Hello, log: Log): OtherRequest[] {
  const key = keyOf(connection, began);
  return OTHER_LISTS.map((list) => {
    const underWay = [...slot.otherLists].find((one) => one.list === list && isSame(key)(one));
    if (underWay !== undefined) return Object.assign(underWay, { again: true });
    const answer = listOther(list, connection, began, log);
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

function keyOf({ offered, fleeting }: Lister, began: Hello): ListRequest {
  return { offered, hello: fleeting ? undefined : began };
}

function isSame({ hello, offered }: ListRequest): (other: ListRequest) => boolean {
  return (other) => other.hello === hello && other.offered === offered;
}

/** The reason while nothing has come yet. */
const NOT_YET = 'not answered yet';
/** Characters of another one: it may be in the server's words. */
const MAX_REASON = 300;

/** An offer with the lists that have been answered; those that have not keep what was known before, and are named. */
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

/** Which lists a server did not answer, and why, such as `prompts/list: database is locked`. */
export function unansweredLists({ unanswered = {} }: Offer): string[] {
  return OTHER_LISTS.flatMap((list) => {
    const why = unanswered[list];
    return why === undefined ? [] : [`${OTHERS[list].method}: ${why}`];
  });
}

/** Why the tools of a server that is connected are not known; the words of the server alone do not say whose they are. */
export function toolsFailure(server: string, error: unknown): unknown {
  if (!(error instanceof RpcError)) return error;
  return new McpxError('protocol', `server "${server}" did not list its tools: ${error.message}`, { cause: error });
}

/** ms between a list that failed and the next try: twice as long each time. */
export function retryPause(failures: number): number {
  return Math.min(5000 * 2 ** (failures - 1), 300_000);
}
