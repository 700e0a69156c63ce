/** A request that is sent upstream keeps its client: server requests of the call reach that client. */
import { describe, expect, test } from 'vitest';
import { dispatch } from '../../src/router/dispatch.ts';
import type { RequestContext } from '../../src/router/request-context.ts';
import { answerQuestion } from '../../src/router/server-requests.ts';
import type { Connection } from '../../src/upstream/connection-interface.ts';
import type { Message, Params } from '../../src/wire/message.ts';
import { createPeer, type Receiver } from '../../src/wire/peer.ts';
import { specOf } from '../world.ts';

const HOW = { repeatable: false, transparent: false };
const ABLE = { roots: {}, sampling: {}, elicitation: {} };

describe('a question that names no call', () => {
  /** A server of the other era that never answers, and asks when it is told to. */
  function server() {
    const answers: Message[] = [];
    let receiver: Receiver | undefined;
    const channel = {
      start: (to: Receiver) => {
        receiver = to;
      },
      send: (message: Message) => void ('method' in message || answers.push(message)),
      close: async () => undefined,
    };
    const peer = createPeer(channel, { request: (request, incoming) => answerQuestion('x', request, incoming) });
    const connection = { name: 'x', spec: specOf('x'), request: peer.request } as unknown as Connection;
    const ask = async (id: number) => {
      receiver?.message({ jsonrpc: '2.0', id, method: 'roots/list' });
      await expect.poll(() => answers.length).toBe(1);
      return answers.pop();
    };
    return { connection, ask };
  }
  const caller = { key: 'k', capabilities: ABLE };
  const wayOf = (name: string, more: Partial<RequestContext> = {}): RequestContext => ({
    caller,
    ask: async () => ({ name }),
    ...more,
  });

  test('is for the request whose calls are under way, and for nobody where there are two of one client', async () => {
    const { connection, ask } = server();
    const [one, two] = ['one', 'two'].map((name) => wayOf(name, { inputs: {}, conversation: name })) as [
      RequestContext,
      RequestContext,
    ];
    for (const way of [one, { ...one }]) void dispatch(connection, 'tools/call', {}, way, HOW);
    expect(await ask(1)).toMatchObject({ result: { name: 'one' } });
    void dispatch(connection, 'tools/call', {}, two, HOW);
    expect(await ask(2)).toMatchObject({ error: { message: expect.stringContaining('several calls') } });
  });

  test('is for the client of all calls where it can be asked at any time', async () => {
    const { connection, ask } = server();
    for (const name of ['one', 'two']) void dispatch(connection, 'tools/call', {}, wayOf(name), HOW);
    expect(await ask(1)).toMatchObject({ result: { name: 'two' } });
  });
});

describe('questions instead of a result', () => {
  const form = { method: 'elicitation/create', params: { message: 'who?', _meta: { y: 2 } } };
  const page = { method: 'elicitation/create', params: { mode: 'url', url: 'https://example.com/' } };
  const sample = { method: 'sampling/createMessage', params: { tools: [] } };
  const roots = { method: 'roots/list' };

  function asked(inputRequests: unknown, capabilities: Params, more: object = {}) {
    const result = { resultType: 'input_required', inputRequests, requestState: 's' };
    const connection = { name: 'x', spec: specOf('x'), request: async () => result } as unknown as Connection;
    const way = { caller: { key: 'k', capabilities }, inputs: {}, questions: 'pass' as const, ...more };
    return dispatch(connection, 'tools/call', {}, way, HOW);
  }

  test('say which server asks, under the keys that they have', async () => {
    const own = { 'dev.mcpx/server': 'x' };
    expect(await asked({ 'a key': form, b: roots, c: { method: 'x/y' }, d: 'odd' }, ABLE)).toEqual({
      resultType: 'input_required',
      inputRequests: {
        'a key': { ...form, params: { message: '"x" asks: who?', _meta: { y: 2, ...own } } },
        b: { ...roots, params: { _meta: own } },
        c: { method: 'x/y', params: { _meta: own } },
        d: 'odd',
      },
      requestState: 's',
    });
    const progress = () => undefined;
    expect(await asked({ b: roots }, ABLE, { progress })).toMatchObject({ inputRequests: { b: { params: {} } } });
    expect(await asked(undefined, {})).toMatchObject({ requestState: 's' });
  });

  test.each<[title: string, questions: Params, declared: Params, missing: Params]>([
    ['nothing', { form, roots, sample }, {}, { elicitation: { form: {} }, roots: {}, sampling: { tools: {} } }],
    ['an empty elicitation', { form, page }, { elicitation: {} }, { elicitation: { url: {} } }],
    ['pages only', { form, page }, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['sampling without tools', { sample }, { sampling: {} }, { sampling: { tools: {} } }],
    ['neither form nor page', { form, page }, { roots: {} }, { elicitation: { form: {}, url: {} } }],
  ])('are an error for a client that declares %s', async (_, questions, declared, requiredCapabilities) => {
    await expect(asked(questions, declared)).rejects.toMatchObject({ code: -32021, data: { requiredCapabilities } });
  });

  test.each<[questions: Params, declared: Params]>([
    [{ form }, { elicitation: { form: {}, url: {} } }],
    [{ page }, { elicitation: { url: {} } }],
    [{ sample }, { sampling: { tools: {} } }],
    [{ sample: { ...sample, params: {} } }, { sampling: {} }],
  ])('%j is asked of a client with %j', async (questions, declared) => {
    expect(await asked(questions, declared)).toMatchObject({ resultType: 'input_required' });
  });
});
