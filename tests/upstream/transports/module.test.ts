import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { bundle } from '../../../scripts/release/bundle.mjs';
import type { ModuleServer } from '../../../src/config/config.ts';
import { serveModule } from '../../../src/upstream/transports/module-server.ts';
import { definitionOf, readModule, runTool } from '../../../src/upstream/transports/module-tools.ts';
import { createPeer, type Peer } from '../../../src/wire/peer.ts';
import { createStreamChannel } from '../../../src/wire/stream.ts';
import { call, cleanup, connection, fixture, isRunning, stdioSpec, until } from '../world.ts';

const folder = mkdtempSync(join(tmpdir(), 'mcpx-module-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function moduleSpec(module: string, more: Partial<ModuleServer> = {}): ModuleServer {
  const { name, timeout, startupTimeout, disabled, concurrency, reconnect, tools, resources, prompts, place } =
    stdioSpec('', []);
  const base = { name, timeout, startupTimeout, disabled, concurrency, reconnect, tools, resources, prompts, place };
  return { ...base, type: 'module', module, ...more };
}

function written(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

describe('a local module in a child of this program', () => {
  const script = process.argv[1];
  beforeAll(async () => {
    const out = mkdtempSync(join(folder, 'bundle-'));
    await bundle(out);
    process.argv[1] = join(out, 'app.js');
  });
  afterAll(() => {
    process.argv[1] = script ?? '';
  });

  test('is listed with everything but its handlers', async () => {
    const upstream = connection(moduleSpec(fixture('tools.mjs')));
    const handshake = await upstream.connect();
    expect(handshake).toMatchObject({ serverInfo: { name: 'tools.mjs' }, instructions: 'for tests' });
    const { tools } = (await upstream.request('tools/list')) as { tools: Record<string, unknown>[] };
    expect(tools[0]).toEqual({
      name: 'greet',
      title: 'Greet',
      description: 'Says hello.',
      inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      annotations: { readOnlyHint: true },
    });
    expect(tools[1]).toEqual({ name: 'object', inputSchema: { type: 'object' } });
  });

  test('may print, and the answers are not hurt', async () => {
    const upstream = connection(moduleSpec(fixture('tools.mjs')));
    expect(await call(upstream, 'print')).toBe('printed');
    expect(await call(upstream, 'greet', { name: '中' })).toBe('hello 中');
    const { noise, stderr } = upstream.diagnostics();
    expect(noise).toBe(0);
    expect(stderr.join('\n')).toContain('loaded, and printing');
    expect(stderr.join('\n')).toContain('forged');
  });

  test('may exit in a call, and is there again for the next one', async () => {
    const upstream = connection(moduleSpec(fixture('tools.mjs')));
    expect(await failure(call(upstream, 'exit'))).toMatchObject({ code: 'unreachable' });
    expect(await call(upstream, 'self')).toBe('mine');
  });

  test('may loop for ever, and is ended all the same', async () => {
    const upstream = connection(moduleSpec(fixture('tools.mjs')));
    await upstream.connect();
    const { pid = 0 } = upstream.diagnostics();
    expect(await failure(call(upstream, 'loop', {}, { timeout: 200 }))).toMatchObject({ code: 'timeout' });
    await upstream.close({ eof: 50, term: 50 });
    await until(() => !isRunning(pid));
  });

  test.each([
    ['broken.mjs', 'export const tools = [', 'cannot be loaded'],
    ['empty.mjs', 'export const a = 1', 'exports no tools'],
  ])('that cannot be used (%s) says why', async (name, text, why) => {
    const upstream = connection(moduleSpec(written(name, text)));
    const error = (await failure(upstream.connect())) as Error;
    expect(error.message).toContain('exited with code 6');
    expect(error.message).toContain(why);
  });

  test('that does not exist is named', async () => {
    const upstream = connection(moduleSpec('/no/such/file.mjs'));
    expect(await failure(upstream.connect())).toMatchObject({
      code: 'unreachable',
      message: 'the file "/no/such/file.mjs" of server "x" does not exist',
    });
  });

  test.each([
    ['named.cjs', 'exports.tools = [{ name: "a", handler: () => "cjs" }]'],
    ['whole.cjs', 'module.exports = { tools: { a: { handler: () => "cjs" } } }'],
    ['default.mjs', 'export default { tools: { a: { handler: () => "cjs" } } }'],
    ['list.mjs', 'export default [{ name: "a", handler: () => "cjs" }]'],
  ])('may be written as %s', async (name, text) => {
    expect(await call(connection(moduleSpec(written(name, text))), 'a')).toBe('cjs');
  });
});

describe('the server around a module', () => {
  // The fixture prints when it is loaded.
  beforeEach(() => void vi.spyOn(console, 'log').mockImplementation(() => undefined));
  afterEach(() => void vi.restoreAllMocks());

  async function serve(file = fixture('tools.mjs')): Promise<{ peer: Peer; over: Promise<void>; stop: () => void }> {
    const [up, down] = [new PassThrough(), new PassThrough()];
    const stop = new AbortController();
    const over = serveModule({ file, input: up, output: down, stop: stop.signal });
    const peer = createPeer(createStreamChannel({ input: down, output: up }));
    cleanup(() => stop.abort());
    return { peer, over, stop: () => stop.abort() };
  }

  const ask = (peer: Peer, name: string, args?: unknown, options = {}) =>
    peer.request('tools/call', { name, ...(args === undefined ? {} : { arguments: args }) }, options);

  test('says who it is in a version that both know', async () => {
    const { peer } = await serve();
    expect(await peer.request('initialize', { protocolVersion: '2025-03-26' })).toMatchObject({
      protocolVersion: '2025-03-26',
      capabilities: { tools: {} },
    });
    expect(await peer.request('initialize', { protocolVersion: '1' })).toMatchObject({ protocolVersion: '2025-11-25' });
    expect(await peer.request('ping')).toEqual({});
  });

  test.each([
    ['greet', { name: 'a' }, { content: [{ type: 'text', text: 'hello a' }] }],
    [
      'object',
      { a: 1 },
      { content: [{ type: 'text', text: '{"got":{"a":1}}' }], structuredContent: { got: { a: 1 } } },
    ],
    ['list', undefined, { content: [{ type: 'text', text: '[1,2]' }] }],
    ['nothing', undefined, { content: [] }],
    ['whole', undefined, { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }], _meta: { a: 1 } }],
    ['fail', undefined, { content: [{ type: 'text', text: 'the disk is full' }], isError: true }],
  ])('answers "%s" with what its handler returned', async (name, args, expected) => {
    const { peer } = await serve();
    expect(await ask(peer, name, args)).toEqual(expected);
  });

  test('refuses what it does not know', async () => {
    const { peer } = await serve();
    await expect(ask(peer, 'missing')).rejects.toMatchObject({ code: -32602, message: 'unknown tool: "missing"' });
    await expect(ask(peer, 'greet', [1])).rejects.toMatchObject({ code: -32602 });
    await expect(peer.request('server/discover')).rejects.toMatchObject({ code: -32601 });
  });

  test('passes progress and cancellation on to the handler', async () => {
    const { peer } = await serve();
    const cancel = new AbortController();
    const progress: unknown[] = [];
    const waiting = ask(
      peer,
      'wait',
      {},
      {
        signal: cancel.signal,
        progress: (params: unknown) => {
          progress.push(params);
          cancel.abort();
        },
      },
    );
    expect(await failure(waiting)).toMatchObject({ code: 'cancelled' });
    expect(progress).toEqual([{ progress: 1, total: 2, message: 'waiting' }]);
  });

  test('ends when it is told to', async () => {
    const { peer, over, stop } = await serve();
    await peer.request('ping');
    stop();
    await over;
  });
});

describe('the exports of a module', () => {
  const handler = () => 'x';
  test.each([
    [{}, 'exports no tools'],
    ['text', 'exports no tools'],
    [{ tools: [{ handler }] }, 'exports a tool without a name'],
    [{ tools: [{ name: 'a' }] }, 'tool "a" of module "m.mjs" has no handler'],
    [{ tools: { a: 1 } }, 'tool "a" of module "m.mjs" has no handler'],
    [
      {
        tools: [
          { name: 'a', handler },
          { name: 'a', handler },
        ],
      },
      'exports two tools "a"',
    ],
  ])('%j are refused', (exported, message) => {
    expect(() => readModule(exported, 'm.mjs')).toThrow(message);
  });

  test('may have any name', () => {
    const exported = { tools: Object.fromEntries([['__proto__', { handler }]]) };
    expect([...readModule(exported, 'm').tools.keys()]).toEqual(['__proto__']);
  });

  test('keep a name of their own over their key', async () => {
    const { tools } = readModule({ default: { tools: { key: { name: 'own', handler } } } }, 'm');
    const tool = tools.get('own');
    expect(tool && definitionOf(tool)).toEqual({ name: 'own', inputSchema: { type: 'object' } });
    const context = { signal: new AbortController().signal, progress: () => undefined };
    expect(tool && (await runTool(tool, {}, context))).toEqual({ content: [{ type: 'text', text: 'x' }] });
  });
});
