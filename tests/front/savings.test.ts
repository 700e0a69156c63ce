/** The compact front counts the tokens that it saves. */
import { expect, test, vi } from 'vitest';
import { PATIENCE } from '../setup/until.ts';
import { createWorld, openFront, type Script } from '../world.ts';

const tool = { name: 'rows', description: 'x'.repeat(4000), inputSchema: { type: 'object' } };
const rows = Array.from({ length: 50 }, (_, id) => ({ id, name: `name ${id}`, state: 'open' }));

function open(scripts: Record<string, Script>, clientInfo?: { name: string; version: string }) {
  const { deps, ledger } = createWorld(scripts);
  if (clientInfo) deps.identity = { ...deps.identity, clientInfo };
  const front = openFront('compact', deps, { key: 'k', notify: () => undefined });
  const request = (method: string, params = {}) =>
    front.request({ method, params }, { signal: new AbortController().signal });
  const call = (name: string, args: unknown) => request('tools/call', { name, arguments: args });
  return { request, call, totals: () => ledger.totals() };
}

const answering = (content: unknown[]) => ({ tools: [tool], answer: () => ({ content }) });

test('a list of tools is counted once per client, with the instructions of the servers', async () => {
  const { request, totals } = open({ a: { tools: [tool], instructions: 'i'.repeat(1000) } });
  await request('tools/list');
  await request('tools/list');
  await vi.waitFor(() => expect(totals().menus).toBe(1), { timeout: PATIENCE });
  const { listedWithout, listedWith } = totals();
  expect(listedWithout).toBeGreaterThan(5000);
  expect(listedWith).toBeLessThan(2000);
});

test('a script or a client without a session counts once, however often it asks', async () => {
  const { deps, ledger } = createWorld({ a: { tools: [tool] } });
  const list = async (clientInfo?: { name: string; version: string }) => {
    const identity = { key: 'k', stateless: true as const, capabilities: {}, ...(clientInfo && { clientInfo }) };
    const front = openFront('compact', { ...deps, identity }, { key: 'k', notify: () => undefined, stateless: true });
    await front.request({ method: 'tools/list' }, { signal: new AbortController().signal });
    await new Promise((resolve) => setImmediate(resolve));
  };
  for (let i = 0; i < 3; i++) await list();
  expect(ledger.totals().menus).toBe(1);
  for (let i = 0; i < 3; i++) await list({ name: 'modern', version: '1' });
  expect(ledger.totals().menus).toBe(2);
  await list({ name: 'another', version: '1' });
  expect(ledger.totals().menus).toBe(3);
});

test('what inspect answers is counted as spent', async () => {
  const { call, totals } = open({ a: { tools: [tool] } });
  const answer = (await call('inspect', { server_name: 'a' })) as { content: { text: string }[] };
  expect(totals()).toMatchObject({ lookups: 1, lookedUp: answer.content[0]?.text.length });
});

test('a result that is written shorter is counted with both lengths', async () => {
  const text = JSON.stringify(rows, null, 2);
  const { call, totals } = open({ a: answering([{ type: 'text', text }]) });
  const result = (await call('exec', { server_name: 'a', tool_name: 'rows' })) as { content: { text: string }[] };
  const resultsAfter = result.content[0]?.text.length ?? 0;
  expect(resultsAfter).toBeLessThan(text.length / 2);
  expect(totals()).toMatchObject({ reencoded: 1, resultsBefore: text.length, resultsAfter });
});

test('a result that passes as it is, is not', async () => {
  const { call, totals } = open({
    a: answering([
      { type: 'text', text: 'plain words' },
      { type: 'image', data: '' },
    ]),
  });
  await call('exec', { server_name: 'a', tool_name: 'rows' });
  expect(totals()).toMatchObject({ reencoded: 0, resultsBefore: 0 });
});

test('a client that defers tools is counted with their names alone', async () => {
  const { request, totals } = open({ a: { tools: [tool] } }, { name: 'claude-code', version: '2.1.327' });
  await request('tools/list');
  await vi.waitFor(() => expect(totals().menus).toBe(1), { timeout: PATIENCE });
  expect(totals().listedWithout).toBe('mcp__a__rows \n'.length);
  expect(totals().listedWith).toBeGreaterThan(500);
});

test('a client that shows structuredContent is counted with that', async () => {
  const answer = () => ({ content: [{ type: 'text', text: 'x'.repeat(9000) }], structuredContent: { rows } });
  const { call, totals } = open({ a: { tools: [tool], answer } }, { name: 'codex-mcp-client', version: '0' });
  await call('exec', { server_name: 'a', tool_name: 'rows' });
  expect(totals()).toMatchObject({ reencoded: 0, resultsBefore: 0 });
});
