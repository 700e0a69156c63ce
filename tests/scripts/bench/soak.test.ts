/** The failures that `npm run bench:soak` reports, and its server; the run itself is too long for the tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { verdict } from '../../../scripts/bench/soak.mjs';
import { createJournal, readAnswer } from '../../../scripts/bench/soak-calls.mjs';
import { descendants, rowsOf, table } from '../../../scripts/bench/soak-samples.mjs';

describe('an error in npm run bench:soak', () => {
  /** A crash from 100 to 200; each call is over at `to`. */
  function stage() {
    let now = 100;
    const journal = createJournal(() => now);
    const over = journal.begin('crash', 'http', 'crash-1');
    now = 200;
    over();
    const call = (
      problem: string | undefined,
      more: { from?: number; place?: string; server?: string; answered?: boolean } = {},
    ) => {
      now = 250;
      journal.record({ client: 'c', place: 'http', server: 'crash-1', from: 150, answered: true, problem, ...more });
      return [journal.counts.excused, journal.counts.failed];
    };
    return { journal, call };
  }
  const ENDED = 'server "crash-1" exited with code 1';

  it('is excused by a fault of its server during the call', () => {
    expect(stage().call(ENDED)).toEqual([1, 0]);
  });

  it.each([
    ['began after the fault was over', ENDED, { from: 201 }],
    ['is of another server', 'server "crash-2" exited with code 1', { server: 'crash-2' }],
    ['is of another mcpx', ENDED, { place: 'stdio compact' }],
    ['does not name the server', 'something exited with code 1', {}],
    ['is another one than the fault brings about', 'the arguments of "crash-1" are wrong', {}],
    ['is no answer but a lost connection', ENDED, { answered: false }],
  ])('fails the run where it %s', (_, problem, more) => {
    expect(stage().call(problem, more)).toEqual([0, 1]);
  });

  it('is told with its time, client, server and message', () => {
    const { journal, call } = stage();
    call('no answer within 60 s', { answered: false });
    expect(journal.failures).toEqual([
      { at: 250, client: 'c', server: 'crash-1', message: 'no answer within 60 s (after 100 ms)' },
    ]);
  });

  it('is in the answer as a result or as an error of JSON-RPC', () => {
    expect(readAnswer({ result: { content: [{ type: 'text', text: 'x' }] } })).toEqual({ text: 'x' });
    expect(readAnswer({ result: { isError: true, content: [{ type: 'text', text: 'x' }] } })).toEqual({ problem: 'x' });
    expect(readAnswer({ error: { code: -32001, message: 'x' } })).toEqual({ problem: 'error -32001: x' });
  });
});

describe('growth in npm run bench:soak', () => {
  const bars = { 'memory MB': 10, handles: 2, children: 0 };
  const look = (memory: number, handles: number, names: Record<string, number>) => ({
    ...{ 'memory MB': memory, handles, names },
    children: Object.values(names).reduce((sum, count) => sum + count, 0),
  });
  const first = look(100, 30, { a: 1, b: 1 });

  it('is what is held at the end beyond what was held after the warm-up', () => {
    const rows = rowsOf(
      [{ name: 'http', first, most: look(900, 90, { a: 9 }), last: look(110, 32, { a: 1, b: 1 }) }],
      bars,
    );
    expect(rows.map(({ over }) => over)).toEqual([false, false, false]);
    expect(verdict({ failed: 0, rows })).toMatch(/^passed/);
    expect(verdict({ failed: 2, rows })).toBe('failed: 2 unexpected errors');
  });

  it('names the process, the number, and the servers of which there are more children', () => {
    const rows = rowsOf([{ name: 'http', first, most: first, last: look(111, 33, { a: 1, b: 2 }) }], bars);
    expect(verdict({ failed: 0, rows })).toBe('failed: grew: memory MB of http, handles of http, children of http');
    expect(table(rows, bars)).toContain('over  b 1 → 2');
  });

  it('counts children of children', () => {
    const parents = new Map([
      [2, 1],
      [3, 2],
      [4, 3],
      [5, 9],
    ]);
    expect(descendants(1, parents)).toEqual([2, 3, 4]);
  });
});

describe('the server of npm run bench:soak', () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  function open() {
    const child = spawn(process.execPath, ['scripts/bench/soak-upstream.mjs', 'ttl=60'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const send = (message: object) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const call = (name: string, args: object, meta = {}) =>
      send({ id: 1, method: 'tools/call', params: { name, arguments: args, _meta: meta } });
    return { child, send, call, next: async () => JSON.parse(`${(await lines.next()).value}`) };
  }

  it('says what it is doing before it answers', async () => {
    const { call, next } = open();
    call('talk', { text: 'x' }, { progressToken: 7 });
    expect((await next()).params).toEqual({ progressToken: 7, progress: 1, total: 5 });
    expect((await next()).method).toBe('notifications/message');
    for (let left = 8; left > 0; left--) await next();
    expect((await next()).result.content).toEqual([{ type: 'text', text: 'x' }]);
  });

  it('asks its client for roots and answers with them', async () => {
    const { send, call, next } = open();
    call('roots', {});
    const { id, method } = await next();
    expect(method).toBe('roots/list');
    send({ id, result: { roots: [{ uri: 'file:///here' }] } });
    expect((await next()).result.content[0].text).toBe('["file:///here"]');
  });

  it('crashes when told to', async () => {
    const { child, call } = open();
    call('crash', {});
    expect(await once(child, 'exit')).toEqual([1, null]);
  });
});
