/** Pages that a client opens for a server: who hears when its user is done there, and who is told that one is needed. */
import { describe, expect, test } from 'vitest';
import { DEFAULTS, type Settings } from '../../src/config/config.ts';
import { RpcError } from '../../src/errors.ts';
import type { Params } from '../../src/wire/message.ts';
import { createWorld, openFront, type Script } from '../world.ts';

type Naming = Settings['naming'];

const COMPLETE = 'notifications/elicitation/complete';
const signal = new AbortController().signal;
const page = (elicitationId: string) => ({ mode: 'url', url: 'https://example.com/', message: 'open', elicitationId });

/** Asks for the page that the arguments name, or refuses to go on without it. */
const script: Script = {
  tools: [{ name: 'ask' }, { name: 'refuse' }],
  async answer(_, params, { onServerRequest }) {
    const id = String((params?.arguments as Params | undefined)?.id);
    if (params?.name === 'refuse') throw new RpcError(-32042, 'a page is needed', { elicitations: [page(id)] });
    const request = { jsonrpc: '2.0' as const, id: 1, method: 'elicitation/create', params: page(id) };
    return { content: [], answer: await onServerRequest?.(request, { signal }) };
  },
};

function open(kind: 'aggregate' | 'compact', elicitation: object = { url: {} }, naming: Partial<Naming> = {}) {
  const settings = { ...DEFAULTS, naming: { ...DEFAULTS.naming, ...naming } };
  const { deps } = createWorld({ a: script }, { settings });
  const told: unknown[] = [];
  const shown: unknown[] = [];
  const ask = async (_method: string, params?: Params) => {
    shown.push(params?.message);
    return { action: 'accept' };
  };
  const front = openFront(kind, deps, { key: 'k', notify: (...said) => told.push(said), ask });
  deps.identity = { key: 'k', capabilities: { elicitation } };
  const request = (name: string, args: Params) =>
    front.request({ method: 'tools/call', params: { name, arguments: args } }, { signal, ask }) as Promise<Params>;
  return { front, told, shown, request, listed: deps.listed };
}

const ways: ['aggregate' | 'compact', (tool: string, id: string) => [name: string, args: Params]][] = [
  ['aggregate', (tool, id) => [`a__${tool}`, { id }]],
  ['compact', (tool, id) => ['exec', { server_name: 'a', tool_name: tool, arguments: { id } }]],
];

describe.each(ways)('in the %s front', (kind, call) => {
  test('who was asked for a page, or refused for want of it, hears that it is done with', async () => {
    const { front, told, request } = open(kind);
    await request(...call('ask', 'one'));
    const refused = request(...call('refuse', 'two'));
    await expect(refused).rejects.toMatchObject({ code: -32042, data: { elicitations: [page('two')] } });
    for (const elicitationId of ['one', 'two', 'of another client', 5])
      front.onNotification('a', COMPLETE, { elicitationId });
    const _meta = { 'dev.mcpx/server': 'a' };
    expect(told).toEqual(['one', 'two'].map((elicitationId) => [COMPLETE, { elicitationId, _meta }]));
  });
});

test('a model is told in words where its client cannot open pages', async () => {
  const [, call] = ways[1] ?? [];
  const { request } = open('compact', {});
  expect(await request(...(call?.('refuse', 'x') ?? ['', {}]))).toMatchObject({ isError: true });
});

test('what a server asks outside of any call counts as well', async () => {
  const { front, told } = open('aggregate');
  front.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const question = { jsonrpc: '2.0' as const, id: 1, method: 'elicitation/create', params: page('one') };
  await front.onServerRequest('a', question, { signal });
  front.onNotification('a', COMPLETE, { elicitationId: 'one' });
  expect(told).toHaveLength(1);
});

test.each<[kind: 'aggregate' | 'compact', naming: Partial<Naming>, message: string]>([
  ['aggregate', { style: 'plain', resources: 'keep' }, 'open'],
  ['aggregate', { style: 'plain' }, '"a" asks: open'],
  ['aggregate', { style: 'prefix', resources: 'keep' }, '"a" asks: open'],
  ['compact', { style: 'plain', resources: 'keep' }, '"a" asks: open'],
])('the %s front with %j in front of one server asks %j', async (kind, naming, message) => {
  const { front, shown, request, listed } = open(kind, { url: {} }, naming);
  await listed();
  const name = naming.style === 'plain' ? 'ask' : 'a__ask';
  const exec: [string, Params] = ['exec', { server_name: 'a', tool_name: 'ask', arguments: { id: 'one' } }];
  await request(...(kind === 'compact' ? exec : ([name, { id: 'one' }] satisfies [string, Params])));
  const question = { jsonrpc: '2.0' as const, id: 1, method: 'elicitation/create', params: page('two') };
  await front.onServerRequest('a', question, { signal });
  expect(shown).toEqual([message, message]);
});
