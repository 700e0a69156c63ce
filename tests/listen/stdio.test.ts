/** The stdio listener over in-memory streams, with a scripted upstream behind it. */
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { listenStdio } from '../../src/listen/stdio.ts';
import { SILENT } from '../../src/observe/log.ts';
import { passTime, stopClock } from '../setup/clock.ts';
import { createWorld, openFront, type Script } from '../world.ts';

function start(slow: Script = {}) {
  let arrived: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const answer: Script['answer'] = (...call) => {
    arrived();
    return slow.answer?.(...call);
  };
  const world = createWorld({ slow: { tools: [{ name: 'wait' }], ...slow, answer } });
  const input = new PassThrough();
  const output = new PassThrough();
  const lines: any[] = [];
  let raw = '';
  let rest = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    raw += text;
    if (raw.startsWith('Content-Length')) return;
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.map((line) => JSON.parse(line)));
  });
  const stop = new AbortController();
  let changed: () => void = () => undefined;
  let closed = 0;
  const done = listenStdio({
    gateway: {
      open: ({ downstream }) => {
        const front = openFront('compact', world.deps, downstream);
        changed = () => front.changed(['tools']);
        const close = () => {
          closed += 1;
        };
        return { front, close };
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
  return {
    input,
    output,
    lines,
    raw: () => raw,
    send,
    stop,
    done,
    reached,
    closed: () => closed,
    changed: () => changed(),
  };
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
  await expect.poll(() => lines).toHaveLength(1);
  stop.abort();
  await done;
  expect(lines).toHaveLength(1);
});

test('a catalog change is told to a client that knows the list', async () => {
  const { input, lines, changed, send, done } = start();
  send({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  await expect.poll(() => lines.length).toBe(1);
  changed();
  await expect.poll(() => lines.at(-1)).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  input.end();
  await done;
});

test('a client that speaks Content-Length is answered in kind', async () => {
  const { input, raw, done } = start();
  const body = JSON.stringify(ping(7));
  input.end(`Content-Length: ${body.length}\r\n\r\n${body}`);
  await done;
  expect(raw()).toMatch(/^Content-Length: \d+\r\n\r\n\{.*"id":7.*\}$/);
});

describe('what arrives in an odd way', () => {
  const text = '{"jsonrpc":"2.0","id":"ключ 🔑","method":"ping"}';

  test('characters that are cut anywhere', async () => {
    const bytes = Buffer.from(`${text}\n`);
    const { input, lines, done } = start();
    for (let at = 0; at < bytes.length; at++) {
      input.write(bytes.subarray(at, at + 1));
      if (at % 8 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    input.end();
    await done;
    expect(lines).toEqual([{ jsonrpc: '2.0', id: 'ключ 🔑', result: {} }]);
  });

  test('CRLF, blank lines, a BOM, and a last line without its end', async () => {
    const { input, lines, done } = start();
    input.end(`\ufeff${JSON.stringify(ping(1))}\r\n\r\n   \n${JSON.stringify(ping(2))}\r\n${JSON.stringify(ping(3))}`);
    await done;
    expect(lines.map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  test('a line over the limit is refused under its id, and the next one is answered', async () => {
    const { input, lines, send, done } = start();
    send({ ...ping(1), params: { pad: 'x'.repeat(1_500_000) } });
    send(ping(2));
    input.end();
    await done;
    expect(lines.map(({ id, error }) => [id, error === undefined])).toEqual([
      [1, false],
      [2, true],
    ]);
  });

  test('a line just below the limit', async () => {
    const { input, lines, send, done } = start();
    send({ ...ping(1), params: { pad: 'x'.repeat(999_000) } });
    input.end();
    await done;
    expect(lines).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  });

  test('frames with Content-Length, cut anywhere', async () => {
    const frame = Buffer.from(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    for (const at of [1, 10, 16, 19, 21, 40, frame.length - 1]) {
      const { input, raw, done } = start();
      input.write(frame.subarray(0, at));
      await new Promise((resolve) => setImmediate(resolve));
      input.end(Buffer.concat([frame.subarray(at), frame]));
      await done;
      expect(raw().match(/Content-Length: \d+\r\n\r\n\{/g)).toHaveLength(2);
    }
  });

  test('bytes at random are answered with nothing but JSON-RPC', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 8 }), async (chunks) => {
        const { input, lines, done } = start();
        for (const chunk of chunks) input.write(Buffer.from(chunk));
        input.end(`\n\n${JSON.stringify(ping(1))}\n`);
        await done;
        for (const line of lines) expect(line.jsonrpc).toBe('2.0');
      }),
      { numRuns: 60 },
    );
  });
});

describe('the end', () => {
  const never = { answer: () => new Promise(() => undefined) };
  beforeEach(stopClock);
  afterEach(() => void vi.useRealTimers());
  /** Sends a call, and does what `end` does when the call has reached its server. */
  async function ending(scene: ReturnType<typeof start>, end: () => unknown): Promise<void> {
    scene.send(exec(1));
    await scene.reached;
    await end();
  }
  /** Resolves when the session is over. The clock is moved by 20 ms only, so a session that waits for longer never ends here. */
  async function endsAtOnce(scene: ReturnType<typeof start>): Promise<void> {
    await vi.advanceTimersByTimeAsync(20);
    await scene.done;
  }

  test('of the input waits three seconds for a call that does not end', async () => {
    const scene = start(never);
    await ending(scene, () => scene.input.end());
    await vi.advanceTimersByTimeAsync(2990);
    expect(scene.closed()).toBe(0);
    await vi.advanceTimersByTimeAsync(20);
    await scene.done;
    expect(scene.closed()).toBe(1);
    expect(scene.lines).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'mcpx is stopping' } }]);
  });

  test('of the input waits for a client that takes its time to read', async () => {
    const scene = start();
    scene.output.pause();
    for (let id = 0; id < 5000; id++) scene.send(ping(id));
    scene.input.end();
    await vi.advanceTimersByTimeAsync(1800);
    expect(scene.lines).toEqual([]);
    scene.output.resume();
    await passTime(scene.done);
    vi.useRealTimers();
    await expect.poll(() => scene.lines.length).toBe(5000);
  });

  test('of the input, then a stop, waits for nothing', async () => {
    const scene = start(never);
    await ending(scene, async () => {
      scene.input.end();
      await vi.advanceTimersByTimeAsync(100);
      expect(scene.closed()).toBe(0);
      scene.stop.abort();
    });
    await endsAtOnce(scene);
  });

  test('by a stop lets a call finish', async () => {
    let finish: (result: unknown) => void = () => undefined;
    const scene = start({ answer: () => new Promise((resolve) => (finish = resolve)) });
    await ending(scene, async () => {
      scene.stop.abort();
      await vi.advanceTimersByTimeAsync(100);
      finish({ content: [] });
    });
    await endsAtOnce(scene);
    expect(scene.lines).toMatchObject([{ id: 1, result: { content: [] } }]);
  });

  test('by a client that no longer reads is quiet and immediate', async () => {
    const scene = start(never);
    await ending(scene, () => scene.output.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })));
    await endsAtOnce(scene);
  });
});

test('a question reaches the client and its answer the call', async () => {
  const { input, lines, send, done } = start({
    answer: async (_method, _params, options: any) => {
      const request = { jsonrpc: '2.0', id: 1, method: 'roots/list', params: {} };
      const roots = await options.onServerRequest?.(request, { signal: new AbortController().signal });
      return { content: [{ type: 'text', text: JSON.stringify(roots ?? 'nobody to ask') }] };
    },
  });
  send({ jsonrpc: '2.0', id: 0, method: 'initialize', params: { capabilities: { roots: {} } } });
  send(exec(1));
  await expect.poll(() => lines.find(({ method }) => method === 'roots/list')).toBeDefined();
  send({ jsonrpc: '2.0', id: lines.find(({ method }) => method === 'roots/list').id, result: { roots: [] } });
  await expect.poll(() => lines.find(({ id }) => id === 1)?.result.content[0].text).toContain('roots');
  input.end();
  await done;
});
