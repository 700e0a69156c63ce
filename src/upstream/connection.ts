/** One upstream connection: its state machine, single-flight connect, requests and close. */
import { setTimeout as delay } from 'node:timers/promises';
import { launchFolder } from '../config/workspace-folder.ts';
import { RpcError } from '../errors.ts';
import { asksForInput } from '../mcp/multi-round-trip.ts';
import { METHOD_NOT_FOUND, type RpcRequest } from '../wire/message.ts';
import type { Incoming } from '../wire/peer.ts';
import type { SendRequest } from './call-options.ts';
import type { Connection } from './connection-interface.ts';
import type { ConnectionEvents, ConnectionOptions } from './connection-options.ts';
import { createMemory } from './era/era.ts';
import { answerInputRequests } from './era/input-required.ts';
import { createBreaker } from './lifecycle/breaker.ts';
import { Lifecycle } from './lifecycle/lifecycle.ts';
import { watchLink } from './lifecycle/monitor.ts';
import { createSlots } from './lifecycle/queue.ts';
import { createResubscriber } from './lifecycle/resubscribe.ts';
import { CONNECT_WAIT, createSender, isTimed, patience, within } from './lifecycle/send.ts';
import { createPurpose } from './lifecycle/stop-after-listing.ts';
import { longestStart } from './process/launcher.ts';

const MAX_WAITING = 2048;
/** Milliseconds without requests before a stop: a client may send the next page of a list request. */
const QUIET = 20;

export function createConnection(options: ConnectionOptions): Connection {
  const { spec, log, events } = options;
  const slots = createSlots({ limit: spec.concurrency, maxWaiting: MAX_WAITING, subject: `server "${spec.name}"` });
  const breaker = createBreaker();
  const resubscriber = createResubscriber();
  const principals = new Set<string>();
  let noise = 0;
  /** The number of pending operations other than requests: connects and server-initiated requests. */
  let uses = 0;
  const busy = () => uses > 0 || slots.active > 0 || slots.waiting > 0;
  /** Monotonic ms at which the last operation ended. */
  let used = 0;
  let unwatch = () => {};

  const lifecycle: Lifecycle = new Lifecycle({
    ...options,
    recall: createMemory(options.recall, () => lifecycle.handshake),
    breaker,
    events: {
      state(state) {
        unwatch();
        const link = state.kind === 'ready' ? lifecycle.link : undefined;
        if (link) resubscriber.resubscribe(link.peer);
        const watched = { ...options, ...purpose, lifecycle, resubscriber, busy, used: () => used };
        unwatch = link ? watchLink(link, watched) : () => undefined;
        purpose.entered(state);
        events?.state?.(state);
      },
    },
    handlers: {
      request: (request, incoming) => answer(request, incoming, events),
      notification: ({ method, params }, about) => {
        resubscriber.onNotification(method, params);
        events?.notification?.(method, params, about);
      },
      invalid: (reason) => {
        noise += 1;
        log.debug(`ignored: ${reason}`, { server: spec.name });
      },
    },
  });
  const purpose = createPurpose({
    ...{ spec, connect: options.settings.connect, places: options.places, busy },
    stopIdle: () => lifecycle.stopIdle(),
  });
  const ended = () => {
    used = performance.now();
    purpose.over();
  };
  const shared = options.owner === undefined;
  const connectWait = options.attended ? longestStart(spec) : patience(spec, CONNECT_WAIT);
  const ask = createSender({ spec, connectWait, lifecycle, breaker, slots, shared, over: ended });
  const answerInput = answerInputRequests(ask, {
    server: spec.name,
    isModern: () => lifecycle.handshake?.era === 'modern',
  });

  const using = async <T>(work: () => Promise<T>): Promise<T> => {
    uses += 1;
    try {
      return await work();
    } finally {
      uses -= 1;
      ended();
    }
  };

  const quiet = async () => {
    while (lifecycle.state.kind !== 'closed' && (busy() || performance.now() - used < QUIET)) await delay(QUIET);
  };

  /** Records subscriptions and tasks; answers the questions of an `input_required` result before it returns. */
  const settle = async (
    answer: Promise<unknown>,
    ...[method, params, timed]: Parameters<SendRequest>
  ): Promise<unknown> => {
    const result = await answer;
    resubscriber.note(method, params, result);
    return asksForInput(result) ? using(() => answerInput(result, method, params, timed)) : result;
  };

  const request: Connection['request'] = (method, params, wanted) => {
    if (wanted?.purpose !== 'list' && method !== 'logging/setLevel') purpose.claim();
    const principal = wanted?.client?.principal;
    if (principal !== undefined && principals.size < 2) principals.add(principal);
    const timed = isTimed(wanted) ? wanted : { ...wanted, timeout: spec.timeout };
    const answer = ask(method, params, timed);
    const plain = lifecycle.link?.handshake.era === 'legacy' && !resubscriber.isLasting(method, params);
    return plain ? answer : settle(answer, method, params, timed);
  };

  return {
    name: spec.name,
    spec,
    owner: options.owner,
    principals,
    offered: options.offered ?? '',
    folder: launchFolder(spec, options.workspaceFolder),
    get state() {
      return lifecycle.state;
    },
    get handshake() {
      return lifecycle.handshake;
    },
    get hasSubscribers() {
      return resubscriber.hasSubscribers;
    },
    async connect(why) {
      if (why === undefined) purpose.claim();
      else await purpose.admitted();
      return using(async () => {
        const left = options.attended ? connectWait : patience(spec, Math.min(spec.timeout, CONNECT_WAIT));
        return (await within(lifecycle.open(left), { method: 'connect', left, spec, lifecycle })).handshake;
      });
    },
    claim: purpose.claim,
    request,
    notify: (method, params) => lifecycle.link?.peer.notify(method, params),
    diagnostics() {
      const pid = lifecycle.link?.transport.pid;
      return { ...(pid === undefined ? {} : { pid }), stderr: lifecycle.latest?.stderr?.() ?? [], noise };
    },
    async stopIdle() {
      await quiet();
      await lifecycle.stopIdle();
    },
    async drain() {
      await quiet();
      await lifecycle.close();
    },
    close: (bounds) => lifecycle.close(bounds),
    killNow: () => lifecycle.killNow(),
  };
}

async function answer(request: RpcRequest, incoming: Incoming, events: ConnectionEvents | undefined): Promise<unknown> {
  if (request.method === 'ping') return {};
  if (events?.request) return events.request(request, incoming);
  throw new RpcError(METHOD_NOT_FOUND, `method not found: ${request.method}`);
}
