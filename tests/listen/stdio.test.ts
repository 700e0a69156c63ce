/** The stdio listener over in-memory streams, with a scripted upstream behind it. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { createFront } from '../../src/front/front.ts';
import { listenStdio } from '../../src/listen/stdio.ts';
import { SILENT } from '../../src/observe/log.ts';
import { createWorld, type Script } from '../world.ts';

function start(slow: Script = {}) {
  const world = createWorld({ slow: { tools: [{ name: 'wait' }], ...slow } });
  const input = new PassThrough();
  const output = new PassThrough();
  const lines: any[] = [];
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.map((line) => JSON.parse(line)));
  });
  const stop = new AbortController();
  let changed: () => void = () => undefined;
  const done = listenStdio({
    gateway: {
      open: ({ downstream }) => {
        const front = createFront('compact', world.deps, downstream);
        changed = () => front.changed(['tools']);
        return { front, close: () => undefined };
      },
    },
    profile: 'default',
    stop: stop.signal,
    maxBytes: 1_000_000,
    log: SILENT,
    input,
    output,
  });
  const send = (message: unknown) =>
    input.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  return { input, lines, send, stop, done, changed: () => changed() };
}

const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });
const exec = (id: number) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'exec', arguments: { server_name: 'slow', tool_name: 'wait' } },
});

test('what was asked before the end of input is answered after it', async () => {
  let answer: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    answer = () => resolve();
  });
  let finish: () => void = () => undefined;
  const { input, lines, send, done } = start({
    answer: () => {
      answer();
      return new Promise((resolve) => {
        finish = () => resolve({ content: [{ type: 'text', text: 'late' }] });
      });
    },
  });
  send(exec(0));
  input.end();
  await reached;
  finish();
  await done;
  expect(lines).toEqual([{ jsonrpc: '2.0', id: 0, result: { content: [{ type: 'text', text: 'late' }] } }]);
});

test('garbage is -32700 and the session goes on', async () => {
  const { input, lines, send, done } = start();
  send('this is not json');
  send({ jsonrpc: '2.0', id: 3, method: 5 });
  send(ping(1));
  input.end();
  await done;
  expect(lines.map(({ id, error }) => [id, error?.code])).toEqual([
    [null, -32700],
    [3, -32600],
    [1, undefined],
  ]);
});

test('it ends when told to stop', async () => {
  const { send, stop, done, lines } = start();
  send(ping(1));
  await new Promise((resolve) => setTimeout(resolve, 20));
  stop.abort();
  await done;
  expect(lines).toHaveLength(1);
});

test('a catalog change is told to the client', async () => {
  const { input, lines, changed, done } = start();
  changed();
  input.end();
  await done;
  expect(lines).toEqual([{ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }]);
});

test('a client that speaks Content-Length is answered in kind', async () => {
  const world = createWorld({});
  const input = new PassThrough();
  const output = new PassThrough();
  const chunks: Buffer[] = [];
  output.on('data', (chunk: Buffer) => chunks.push(chunk));
  const done = listenStdio({
    gateway: {
      open: ({ downstream }) => ({ front: createFront('compact', world.deps, downstream), close: () => undefined }),
    },
    profile: 'default',
    stop: new AbortController().signal,
    maxBytes: 1_000_000,
    log: SILENT,
    input,
    output,
  });
  const body = JSON.stringify(ping(7));
  input.end(`Content-Length: ${body.length}\r\n\r\n${body}`);
  await done;
  expect(Buffer.concat(chunks).toString()).toMatch(/^Content-Length: \d+\r\n\r\n\{.*"id":7.*\}$/);
});
