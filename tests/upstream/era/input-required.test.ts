/** Requests that a server of the modern era answers with questions: who is asked, what is sent again, and when it ends. */
import { describe, expect, test } from 'vitest';
import { RpcError } from '../../../src/errors.ts';
import { asksForInput } from '../../../src/mcp/multi-round-trip.ts';
import type { CallOptions, SendRequest } from '../../../src/upstream/call-options.ts';
import { answerInputRequests, withEnvelope } from '../../../src/upstream/era/input-required.ts';
import type { Params } from '../../../src/wire/message.ts';

const META = 'io.modelcontextprotocol/';
const question = (message: string) => ({ method: 'elicitation/create', params: { message } });
const wants = (inputRequests?: Params, requestState?: string) => ({
  resultType: 'input_required',
  ...(inputRequests && { inputRequests }),
  ...(requestState !== undefined && { requestState }),
});

/** A server that answers with these, one after the other, the last one again and again. */
function server(results: unknown[], { modern = true } = {}) {
  const sent: CallOptions['inputs'][] = [];
  const ask: SendRequest = async (_method, _params, { inputs }) => {
    sent.push(inputs);
    return results[Math.min(sent.length, results.length) - 1];
  };
  const rounds = answerInputRequests(ask, { server: 'x', isModern: () => modern });
  return {
    sent,
    async call(wanted: CallOptions = {}, method = 'tools/call') {
      const timed = { timeout: 1000, ...wanted };
      const first = await ask(method, {}, timed);
      return asksForInput(first) ? rounds(first, method, {}, timed) : first;
    },
  };
}

const accept: NonNullable<CallOptions['onServerRequest']> = async ({ params }) => ({ said: params?.message });

describe('a question in the middle of a request', () => {
  test('is asked, and the request is sent again with the answers under their keys and the state as it was', async () => {
    const { sent, call } = server([wants({ a: question('1'), b: question('2') }, ' s '), { content: [] }]);
    expect(await call({ onServerRequest: accept })).toEqual({ content: [] });
    expect(sent).toEqual([undefined, { inputResponses: { a: { said: '1' }, b: { said: '2' } }, requestState: ' s ' }]);
  });

  test('may be followed by others; a state is of the last round only', async () => {
    const { sent, call } = server([wants({ a: question('1') }, 's'), wants({ b: question('2') }), 'done']);
    expect(await call({ onServerRequest: accept }, 'prompts/get')).toBe('done');
    expect(sent.slice(1)).toEqual([
      { inputResponses: { a: { said: '1' } }, requestState: 's' },
      { inputResponses: { b: { said: '2' } } },
    ]);
  });

  test('to open a page has an id, without which clients of the other era do not take it', async () => {
    const page = {
      method: 'elicitation/create',
      params: { mode: 'url', message: 'open', url: 'https://example.com/' },
    };
    const asked: unknown[] = [];
    const { call } = server([wants({ a: page }), 'done']);
    await call({ onServerRequest: async ({ params }) => asked.push(params) });
    expect(asked).toEqual([{ ...page.params, elicitationId: expect.stringMatching(/^[\w-]{36}$/) }]);
  });

  test('is the result for who takes questions as results', async () => {
    const { sent, call } = server([wants({ a: question('1') }, 's')]);
    const inputs = { inputResponses: { early: {} } };
    expect(await call({ inputs, onServerRequest: accept })).toEqual(wants({ a: question('1') }, 's'));
    expect(sent).toEqual([inputs]);
  });

  test('is none in the legacy era', async () => {
    const { call } = server([wants({ a: question('1') })], { modern: false });
    expect(await call({ onServerRequest: accept })).toEqual(wants({ a: question('1') }));
  });

  test('that is none only means: once more', async () => {
    const { sent, call } = server([wants(undefined, 's'), 'done']);
    expect(await call()).toBe('done');
    expect(sent[1]).toEqual({ requestState: 's' });
  });

  test.each<[title: string, results: unknown[], wanted: CallOptions, method: string, message: RegExp]>([
    [
      'has nobody to answer it',
      [wants({ a: question('1') })],
      {},
      'tools/call',
      /asks "a" .* the client cannot be asked/,
    ],
    [
      'is refused',
      [wants({ a: question('1') })],
      { onServerRequest: () => Promise.reject(new RpcError(-32601, 'cannot')) },
      'tools/call',
      /asks "a" in the middle of a call, and gets no answer: cannot/,
    ],
    ['is no request', [wants({ a: 'what?' })], { onServerRequest: accept }, 'tools/call', /asks "a" .* is no request/],
    [
      'has no place',
      [wants({ a: question('1') })],
      { onServerRequest: accept },
      'tools/list',
      /"tools\/list" with questions/,
    ],
    [
      'never ends',
      [wants({ a: question('1') })],
      { onServerRequest: accept },
      'tools/call',
      /still asks .* after 50 rounds/,
    ],
  ])('that %s ends the request with a clear error', async (_, results, wanted, method, message) => {
    await expect(server(results).call(wanted, method)).rejects.toThrow(message);
  });

  test('ends with the request', async () => {
    const controller = new AbortController();
    const { call } = server([wants(undefined, 's')]);
    const failed = call({ signal: controller.signal });
    controller.abort();
    await expect(failed).rejects.toThrow();
  });
});

test('a modern request says on whose behalf it is sent; what extensions say in _meta stays', () => {
  const client = {
    key: 'k',
    capabilities: { roots: {}, elicitation: { url: {} } },
    clientInfo: { name: 'editor', version: '2' },
    logLevel: 'info',
  };
  const inputs = { inputResponses: { a: 1 }, requestState: 's' };
  const params = { name: 't', _meta: { 'com.example/x': 1, [`${META}logLevel`]: 'forged' } };
  expect(withEnvelope(params, { client, inputs })).toEqual({
    name: 't',
    ...inputs,
    _meta: {
      'com.example/x': 1,
      [`${META}protocolVersion`]: '2026-07-28',
      [`${META}clientCapabilities`]: { roots: {}, elicitation: { url: {} } },
      [`${META}clientInfo`]: { name: 'editor (via mcpx)', version: '2' },
      [`${META}logLevel`]: 'info',
    },
  });
  expect(withEnvelope({ a: 1 }, {})).toEqual({ a: 1 });
});
