/** Serves `subscriptions/listen` of the modern era: a stream of the notifications that a client subscribes to. */
import type { Downstream } from '../../front/front-interface.ts';
import { complete, type Envelope } from '../../mcp/envelope.ts';
import { META } from '../../mcp/protocol-versions.ts';
import type { Principal } from '../../policy/auth.ts';
import { INVALID_PARAMS, isRecord, type Params, type RpcRequest } from '../../wire/message.ts';
import { sendRpcError } from '../http/http-response.ts';
import { introduce } from './introduce-client.ts';
import { hasRoom, type McpDeps, type McpRequest, openFront } from './mcp-request.ts';
import type { SessionEntry } from './sessions.ts';
import { EventStream } from './sse-stream.ts';

/** The lists of each `listChanged` filter. */
const LISTS: ReadonlyMap<string, string> = new Map([
  ['toolsListChanged', 'tools'],
  ['promptsListChanged', 'prompts'],
  ['resourcesListChanged', 'resources'],
]);
const MAX_RESOURCES = 1000;

export class Subscription implements SessionEntry {
  readonly kind = 'listen';
  readonly calling = false;
  readonly busy = true;
  readonly id: string;
  readonly profile: string;
  readonly principal: Principal | undefined;
  readonly stream = new EventStream();
  readonly #finish: () => void;

  constructor(options: Pick<SessionEntry, 'id' | 'profile' | 'principal'> & { finish: () => void }) {
    this.id = options.id;
    this.profile = options.profile;
    this.principal = options.principal;
    this.#finish = options.finish;
  }

  send(message: Params, { kept }: { kept: boolean }): void {
    this.stream.push(JSON.stringify({ jsonrpc: '2.0', ...message }), { kept });
  }

  end(): void {
    this.#finish();
    this.stream.end();
  }
}

export async function serveListen(
  request: RpcRequest,
  envelope: Envelope,
  exchange: McpRequest,
  deps: McpDeps,
): Promise<void> {
  const { response, profile, principal } = exchange;
  const { sessions } = deps;
  const { id } = request;
  const wanted = request.params?.notifications;
  if (!isRecord(wanted))
    return sendRpcError(response, 400, { code: INVALID_PARAMS, message: '"notifications" must be an object', id });
  if (!hasRoom(exchange, deps, id)) return;
  const stamp = { [`${META}subscriptionId`]: id };
  let serverInfo: unknown;
  const news = createNews((method, params) =>
    subscription.send({ method, params: stamped(params, stamp) }, { kept: false }),
  );
  const left = new AbortController();
  const { signal } = left;
  const opened = openFront(exchange, deps, { notify: news.tell, stateless: true });
  const subscription = new Subscription({
    id: sessions.newId(),
    profile,
    principal,
    finish() {
      left.abort();
      // A reload or a stop may end the subscription before it is acknowledged; the client still needs a response.
      if (!subscription.stream.attached) subscription.stream.attach(response);
      subscription.send(
        { id, result: complete('', {}, { ...stamp, [`${META}serverInfo`]: serverInfo }) },
        { kept: true },
      );
      opened.close();
    },
  });
  sessions.add(subscription);
  response.once('close', () => sessions.end(subscription, 'the client left'));
  const hello = await introduce(opened, envelope, signal);
  serverInfo = hello.serverInfo;
  const honoured = await honour(wanted, isRecord(hello.capabilities) ? hello.capabilities : {}, (uri) =>
    opened.front.request({ method: 'resources/subscribe', params: { uri } }, { signal }),
  );
  // The subscription ended while servers were starting, so nothing must be sent.
  if (signal.aborted) return;
  subscription.stream.attach(response);
  const params = { notifications: honoured, _meta: stamp };
  subscription.send({ method: 'notifications/subscriptions/acknowledged', params }, { kept: true });
  const heard = new Set(methodsOf(honoured));
  news.begin((method) => heard.has(method));
  if (heard.size === 0) sessions.end(subscription, 'there is nothing to listen to');
}

/** The notifications of one subscription. */
export interface News {
  tell: Downstream['notify'];
  /** Sends the notifications held back so far, as far as they are wanted; called after the acknowledgement. */
  begin(wanted: (method: string, params: Params) => boolean): void;
}

/**
 * Holds notifications back until the acknowledgement: a server may send an update together with the response to its
 * subscription, and the acknowledgement must come first.
 */
export function createNews(send: Downstream['notify']): News {
  const early: Parameters<Downstream['notify']>[] = [];
  let wants: ((method: string, params: Params) => boolean) | undefined;
  const tell: Downstream['notify'] = (method, params = {}) => {
    if (wants?.(method, params)) send(method, params);
    else if (wants === undefined && early.length < MAX_RESOURCES) early.push([method, params]);
  };
  return {
    tell,
    begin(wanted) {
      wants = wanted;
      for (const one of early.splice(0)) tell(...one);
    },
  };
}

/** Returns the part of the requested filter that the servers support. */
export async function honour(wanted: Params, capabilities: Params, subscribe: (uri: string) => Promise<unknown>) {
  const can = (kind: string, what: string) => isRecord(capabilities[kind]) && capabilities[kind][what] === true;
  const honoured: Params = {};
  for (const [wish, kind] of LISTS) if (wanted[wish] === true && can(kind, 'listChanged')) honoured[wish] = true;
  const { resourceSubscriptions } = wanted;
  if (!Array.isArray(resourceSubscriptions) || !can('resources', 'subscribe')) return honoured;
  const uris = resourceSubscriptions.filter((uri) => typeof uri === 'string').slice(0, MAX_RESOURCES);
  const subscribed = await Promise.all(
    uris.map((uri) =>
      subscribe(uri).then(
        () => [uri],
        () => [],
      ),
    ),
  );
  const kept = subscribed.flat();
  return kept.length === 0 ? honoured : { ...honoured, resourceSubscriptions: kept };
}

export function* methodsOf(honoured: Params): Generator<string> {
  for (const [wish, kind] of LISTS) if (honoured[wish] === true) yield `notifications/${kind}/list_changed`;
  if (honoured.resourceSubscriptions !== undefined) yield 'notifications/resources/updated';
}

/** Adds the subscription id to the params of a notification. */
export function stamped(params: Params | undefined, stamp: Params): Params {
  return { ...params, _meta: { ...(isRecord(params?._meta) ? params._meta : {}), ...stamp } };
}
