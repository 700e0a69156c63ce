/** Where large results are kept. */
import { describe, expect, test } from 'vitest';
import { createResultStore, type Kept, RESULT_LIFE } from '../../src/router/shelf.ts';

const kept = (text: string, more: Partial<Kept> = {}): Kept => ({ text, isJson: false, title: 's.t', ...more });

describe('the store of results', () => {
  test('a session finds and lists its own, and nobody else does', () => {
    const store = createResultStore(() => 1000);
    const [mine, yours] = [store.ofSession('a'), store.ofSession('b')];
    const id = mine.put(kept('hello'))?.id ?? '';
    expect(mine.get(id)?.text).toBe('hello');
    expect(mine.list().map((entry) => entry.id)).toEqual([id]);
    expect(yours.get(id)).toBeUndefined();
    expect(yours.list()).toEqual([]);
    expect(store.ofRequest('p', undefined).get(id)).toBeUndefined();
  });

  test('what a request left is found by a later one of the same token and profile, and is never listed', () => {
    const store = createResultStore(() => 1000);
    const id = store.ofRequest('p', 'ci').put(kept('hello'))?.id ?? '';
    expect(id).toMatch(/^[\w-]{22}$/);
    expect(store.ofRequest('p', 'ci').get(id)?.text).toBe('hello');
    expect(store.ofRequest('p', 'ci').list()).toEqual([]);
    for (const other of [store.ofRequest('p', 'other'), store.ofRequest('q', 'ci'), store.ofRequest('p', undefined)]) {
      expect(other.get(id)).toBeUndefined();
    }
    store.ofRequest('p', 'ci').clear();
    expect(store.ofRequest('p', 'ci').get(id)?.text).toBe('hello');
  });

  test('a session that ends takes its results along, and its ids mean nothing to the next', () => {
    const store = createResultStore(() => 1000);
    const shelf = store.ofSession('a');
    const id = shelf.put(kept('hello'))?.id ?? '';
    shelf.clear();
    expect(shelf.get(id)).toBeUndefined();
    expect(store.ofSession('b').put(kept('other'))?.id).not.toBe(id);
  });

  test('what nobody reads expires, and reading keeps it', () => {
    let now = 0;
    const shelf = createResultStore(
      () => 1000,
      () => now,
    ).ofSession('a');
    const [read, unread] = [shelf.put(kept('read'))?.id ?? '', shelf.put(kept('unread'))?.id ?? ''];
    now += RESULT_LIFE - 1;
    expect(shelf.get(read)?.text).toBe('read');
    now += 2;
    expect(shelf.get(unread)).toBeUndefined();
    expect(shelf.list().map(({ text }) => text)).toEqual(['read']);
  });

  test('the oldest of whoever has the most goes first, never what has just been kept', () => {
    const store = createResultStore(() => 200);
    const [greedy, modest] = [store.ofSession('greedy'), store.ofSession('modest')];
    const small = modest.put(kept('x'.repeat(10)))?.id ?? '';
    const ids = ['a', 'b', 'c', 'd'].map((letter) => greedy.put(kept(letter.repeat(25)))?.id ?? '');
    expect(ids.map((id) => greedy.get(id)?.text[0])).toEqual([undefined, 'b', 'c', 'd']);
    expect(modest.get(small)?.text).toHaveLength(10);
    const large = modest.put(kept('y'.repeat(95)))?.id ?? '';
    expect(modest.get(large)?.text).toHaveLength(95);
  });

  test('what is larger than the whole store is not kept', () => {
    const shelf = createResultStore(() => 100).ofSession('a');
    expect(shelf.put(kept('x'.repeat(51)))).toBeUndefined();
    expect(shelf.put(kept('x'.repeat(30), { json: 'y'.repeat(30) }))).toBeUndefined();
    expect(
      createResultStore(() => 0)
        .ofSession('a')
        .put(kept('x')),
    ).toBeUndefined();
  });

  test('the number of results is bounded too', () => {
    const shelf = createResultStore(() => 1_000_000).ofSession('a');
    for (let i = 0; i < 1100; i += 1) shelf.put(kept('x'));
    expect(shelf.list()).toHaveLength(1000);
  });
});
