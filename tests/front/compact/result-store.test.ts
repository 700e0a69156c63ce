/** Where large results are kept. */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type ClientResults,
  createResultStore,
  type Kept,
  RESULT_LIFE,
  type ResultStoreOptions,
} from '../../../src/front/compact/result-store.ts';

const MB = 1024 * 1024;
const kept = (text: string, more: Partial<Kept> = {}): Kept => ({ text, isJson: false, title: 's.t', ...more });
const open = (more: Partial<ResultStoreOptions> = {}) => createResultStore({ maxBytes: () => 4000, ...more });

async function put(clientResults: ClientResults, one: Kept): Promise<string> {
  const stored = await clientResults.put(one);
  if ('notKept' in stored) throw new Error(stored.notKept);
  return stored.id;
}

const textOf = async (clientResults: ClientResults, id: string) => (await clientResults.get(id))?.text;

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'mcpx-results-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('the store of results', () => {
  test('a session finds and lists its own, and nobody else does', async () => {
    const store = open();
    const [mine, yours] = [store.ofSession('a', undefined), store.ofSession('b', undefined)];
    const id = await put(mine, kept('hello'));
    expect(await textOf(mine, id)).toBe('hello');
    expect(mine.list().map((entry) => entry.id)).toEqual([id]);
    expect(await yours.get(id)).toBeUndefined();
    expect(yours.list()).toEqual([]);
    expect(await store.ofRequest('p', undefined).get(id)).toBeUndefined();
  });

  test('what a request left is found by a later one of the same token and profile, and is never listed', async () => {
    const store = open();
    const id = await put(store.ofRequest('p', 'ci'), kept('hello'));
    expect(id).toMatch(/^[\w-]{22}$/);
    expect(await textOf(store.ofRequest('p', 'ci'), id)).toBe('hello');
    expect(store.ofRequest('p', 'ci').list()).toEqual([]);
    for (const other of [store.ofRequest('p', 'other'), store.ofRequest('q', 'ci'), store.ofRequest('p', undefined)]) {
      expect(await other.get(id)).toBeUndefined();
    }
    store.ofRequest('p', 'ci').clear();
    expect(await textOf(store.ofRequest('p', 'ci'), id)).toBe('hello');
  });

  test('a session that ends takes its results along, and its ids mean nothing to the next', async () => {
    const store = open();
    const clientResults = store.ofSession('a', undefined);
    const id = await put(clientResults, kept('hello'));
    const unfinished = clientResults.put(kept('late'));
    clientResults.clear();
    await unfinished;
    expect(await clientResults.get(id)).toBeUndefined();
    expect(clientResults.list()).toEqual([]);
    expect(await put(store.ofSession('b', undefined), kept('other'))).not.toBe(id);
  });

  test('what nobody reads expires, and reading keeps it', async () => {
    let now = 0;
    const clientResults = open({ now: () => now }).ofSession('a', undefined);
    const [read, unread] = [await put(clientResults, kept('read')), await put(clientResults, kept('unread'))];
    now += RESULT_LIFE - 1;
    expect(await textOf(clientResults, read)).toBe('read');
    now += 2;
    expect(await clientResults.get(unread)).toBeUndefined();
    expect(clientResults.list().map(({ id }) => id)).toEqual([read]);
  });

  test('what was kept stays for its whole time: what does not fit is refused instead, and fits again afterwards', async () => {
    let now = 0;
    const clientResults = open({ now: () => now }).ofSession('a', undefined);
    const ids = [await put(clientResults, kept('a'.repeat(400))), await put(clientResults, kept('b'.repeat(600)))];
    expect(await clientResults.put(kept('c'))).toEqual({
      notKept: 'at most 1000 bytes are kept for one client at a time',
    });
    expect(await Promise.all(ids.map((id) => textOf(clientResults, id)))).toEqual(['a'.repeat(400), 'b'.repeat(600)]);
    now += RESULT_LIFE + 1;
    expect(await textOf(clientResults, await put(clientResults, kept('c')))).toBe('c');
  });

  test('one token cannot take the room of another, however many sessions it has', async () => {
    const store = open();
    const greedy = Array.from({ length: 20 }, (_, at) => store.ofSession(`greedy ${at}`, 'ci'));
    const outcomes = await Promise.all(greedy.map((clientResults) => clientResults.put(kept('x'.repeat(500)))));
    expect(outcomes.filter((outcome) => !('notKept' in outcome))).toHaveLength(4);
    expect(outcomes.at(-1)).toEqual({ notKept: 'at most 2 KB are kept for all clients of one token at a time' });
    expect(await textOf(store.ofSession('m', 'other'), await put(store.ofSession('m', 'other'), kept('y')))).toBe('y');
  });

  test('all tokens together stay within the bound', async () => {
    const store = open();
    const all = ['a', 'b', 'c', 'd', 'e'].map((token) => store.ofSession(token, token).put(kept('x'.repeat(1000))));
    expect(await Promise.all(all)).toMatchObject([
      ...[{ size: 1000 }, { size: 1000 }, { size: 1000 }, { size: 1000 }],
      { notKept: 'at most 3.9 KB are kept at a time' },
    ]);
  });

  test('nothing is kept where nothing may be', async () => {
    const clientResults = open({ maxBytes: () => 0 }).ofSession('a', undefined);
    expect(await clientResults.put(kept('x'))).toEqual({ notKept: expect.stringContaining('at most 0 bytes') });
  });

  test('the number of results is bounded too', async () => {
    const clientResults = open({ maxBytes: () => 1_000_000 }).ofSession('a', undefined);
    const outcomes = await Promise.all(Array.from({ length: 300 }, () => clientResults.put(kept('x'))));
    expect(outcomes.filter((outcome) => 'notKept' in outcome)).toHaveLength(50);
    expect(clientResults.list()).toHaveLength(250);
  });
});

describe('large results', () => {
  const LARGE = 'ä"\n'.repeat(500_000);

  test.skipIf(process.platform === 'win32')(
    'lie in files that only their owner can read and that have no name, on Linux and on macOS',
    async () => {
      const path = join(folder(), 'results');
      const store = open({ maxBytes: () => 64 * MB, folder: path, maxMemory: 0 });
      const clientResults = store.ofSession('a', undefined);
      const ids = await Promise.all(
        [1, 2, 3].map((n) => put(clientResults, kept(LARGE + n, { json: `${LARGE}${n}!` }))),
      );
      expect(await clientResults.get(ids[1] ?? '')).toMatchObject({ text: `${LARGE}2`, json: `${LARGE}2!` });
      expect(readdirSync(path)).toEqual([]);
      expect(statSync(path).mode & 0o777).toBe(0o700);
      store.close();
      expect(await clientResults.get(ids[1] ?? '')).toBeUndefined();
    },
  );

  test.each([
    ['half of a surrogate pair', `${'x'.repeat(100_000)}\ud800`],
    ['any character', `${'x'.repeat(100_000)}\u{1f600}ä\0`],
  ])('come back exactly, with %s', async (_what, text) => {
    for (const place of [folder(), undefined]) {
      const clientResults = open({ maxBytes: () => 64 * MB, folder: place }).ofSession('a', undefined);
      expect(await textOf(clientResults, await put(clientResults, kept(text)))).toBe(text);
      clientResults.clear();
    }
  });

  test('are kept in memory, within its bound, where no file can be written', async () => {
    const path = join(folder(), 'a file');
    writeFileSync(path, '');
    const clientResults = open({ maxBytes: () => 64 * MB, maxMemory: 3 * MB, folder: path }).ofSession('a', undefined);
    expect(await textOf(clientResults, await put(clientResults, kept(LARGE)))).toBe(LARGE);
    expect(await clientResults.put(kept(LARGE))).toEqual({
      notKept: expect.stringContaining(`there is no memory left for it, and it cannot be written to "${path}"`),
    });
    expect(clientResults.list()).toHaveLength(1);
    clientResults.clear();
    expect(await textOf(clientResults, await put(clientResults, kept(LARGE)))).toBe(LARGE);
  });
});
