/** The built-in servers as an MCP client meets them: over a channel, message by message. */
import { expect, test } from 'vitest';
import { McpxError } from '../../../src/errors.ts';
import { openBuiltin, TOOLBOXES } from '../../../src/upstream/transports/builtin.ts';
import type { Message, RpcResponse } from '../../../src/wire/message.ts';
import type { Channel } from '../../../src/wire/peer.ts';

/** Sends one request and resolves with the answer to it. */
function ask(channel: Channel, method: string, params?: Record<string, unknown>): Promise<RpcResponse> {
  return new Promise((resolve) => {
    channel.start({
      message: (message: Message) => resolve(message as RpcResponse),
      invalid: () => {},
      closed: () => {},
    });
    channel.send({ jsonrpc: '2.0', id: 0, method, ...(params && { params }) });
  });
}

test.each(Object.keys(TOOLBOXES))('"%s" introduces itself and lists its tools', async (name) => {
  const handshake = await ask(openBuiltin(name), 'initialize', { protocolVersion: '2025-03-26', capabilities: {} });
  expect(handshake).toMatchObject({
    id: 0,
    result: {
      protocolVersion: '2025-03-26',
      capabilities: { tools: {} },
      serverInfo: { name },
      instructions: expect.any(String),
    },
  });
  const { result } = await ask(openBuiltin(name), 'tools/list');
  const { tools } = result as { tools: Record<string, unknown>[] };
  expect(tools.length).toBeGreaterThanOrEqual(3);
  for (const tool of tools) {
    expect(tool).toMatchObject({
      name: expect.stringMatching(/^[a-z_]+$/),
      description: expect.any(String),
      inputSchema: { type: 'object' },
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: expect.any(Boolean) },
    });
    expect(tool).not.toHaveProperty('run');
  }
});

test('an unknown version is answered with the newest known one', async () => {
  const { result } = await ask(openBuiltin('time'), 'initialize', { protocolVersion: '2099-01-01' });
  expect(result).toMatchObject({ protocolVersion: '2025-11-25' });
});

test('a call answers with text and structured content', async () => {
  const { result } = await ask(openBuiltin('math'), 'tools/call', {
    name: 'calculate',
    arguments: { expression: '1+2' },
  });
  expect(result).toEqual({ content: [{ type: 'text', text: '{"result":3}' }], structuredContent: { result: 3 } });
});

test('a tool that fails answers with isError, the reason and the hint', async () => {
  const { result } = await ask(openBuiltin('math'), 'tools/call', {
    name: 'calculate',
    arguments: { expression: '1/0' },
  });
  expect(result).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: expect.stringContaining('not a finite number') }],
  });
});

const REFUSED: [string, string, Record<string, unknown> | undefined, number][] = [
  ['a method it does not know', 'resources/list', undefined, -32601],
  ['a method named like a part of every object', 'constructor', undefined, -32601],
  ['a tool it does not have', 'tools/call', { name: 'nope' }, -32602],
  ['a tool name that is no string', 'tools/call', { name: 7 }, -32602],
  ['arguments that are no object', 'tools/call', { name: 'now', arguments: [1] }, -32602],
  ['a cursor it never gave', 'tools/list', { cursor: 'x' }, -32602],
];

test.each(REFUSED)('%s is refused', async (_title, method, params, code) => {
  expect((await ask(openBuiltin('time'), method, params)).error).toMatchObject({ code });
});

test('a ping is answered, and never inside send', async () => {
  const channel = openBuiltin('time');
  let answered = false;
  const answer = new Promise<void>((resolve) => {
    channel.start({
      message: () => {
        answered = true;
        resolve();
      },
      invalid: () => {},
      closed: () => {},
    });
  });
  channel.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
  expect(answered).toBe(false);
  await answer;
});

test('notifications and answers are taken without a word', async () => {
  const channel = openBuiltin('time');
  const seen: Message[] = [];
  channel.start({ message: (message) => seen.push(message), invalid: () => {}, closed: () => {} });
  channel.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  channel.send({ jsonrpc: '2.0', id: 5, result: {} });
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toEqual([]);
});

test('a closed server says so once, takes nothing more and answers nothing late', async () => {
  const channel = openBuiltin('time');
  const seen: string[] = [];
  channel.start({ message: () => seen.push('message'), invalid: () => {}, closed: () => seen.push('closed') });
  channel.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
  await channel.close();
  await channel.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toEqual(['closed']);
  expect(() => channel.send({ jsonrpc: '2.0', id: 2, method: 'ping' })).toThrow(McpxError);
});

test('each opening has a memory of its own', async () => {
  const [one, two] = [openBuiltin('memory'), openBuiltin('memory')];
  await ask(one, 'tools/call', { name: 'set', arguments: { key: 'a', value: 1 } });
  expect((await ask(two, 'tools/call', { name: 'get', arguments: { key: 'a' } })).result).toMatchObject({
    isError: true,
  });
  expect((await ask(one, 'tools/call', { name: 'get', arguments: { key: 'a' } })).result).toMatchObject({
    structuredContent: { key: 'a', value: 1 },
  });
});

test.each(['nope', '__proto__', 'constructor'])('there is no built-in server "%s"', (name) => {
  expect(() => openBuiltin(name)).toThrow(`no built-in server "${name}"`);
});
