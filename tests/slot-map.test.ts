/** The table of what is in flight: ids of both kinds, names that mean something to objects, and an order. */
import { describe, expect, it } from 'vitest';
import { parseLossless } from '../src/lossless-json.ts';
import { LinkedList, type ListNode, SlotMap } from '../src/slot-map.ts';

describe('what is in flight', () => {
  it('is found by its id until it is removed, a number and its text being two ids', () => {
    const table = new SlotMap<string>();
    table.set(1, 'number');
    table.set('1', 'text');
    table.set(0, 'zero');
    expect([table.get(1), table.get('1'), table.get(0), table.get('0')]).toEqual(['number', 'text', 'zero', undefined]);
    expect(table.size).toBe(3);
    table.delete(1);
    table.delete(1);
    expect([table.has(1), table.has('1'), table.size]).toEqual([false, true, 2]);
  });

  it('is found by a number that JavaScript cannot hold, as often as it is read', () => {
    const table = new SlotMap<string>();
    const id = () => parseLossless('9007199254740993') as number;
    table.set(id(), 'number');
    table.set('9007199254740993', 'text');
    expect([table.get(id()), table.has(id()), table.size]).toEqual(['number', true, 2]);
    expect(table.entries()[0]).toEqual([id(), 'number']);
    table.delete(id());
    expect([table.get(id()), table.size]).toEqual([undefined, 1]);
    table.clear();
    expect(table.size).toBe(0);
  });

  it('may have any id that is text', () => {
    const table = new SlotMap<number>();
    const ids = ['__proto__', 'constructor', 'hasOwnProperty', '', '"', '1.5', 'é', '\u0000'];
    expect(ids.filter((id) => table.has(id) || table.get(id) !== undefined)).toEqual([]);
    for (const [value, id] of ids.entries()) table.set(id, value);
    expect(ids.map((id) => table.get(id))).toEqual(ids.map((_, value) => value));
    expect(table.entries().map(([id]) => id)).toEqual(ids);
  });

  it('is counted once however often it is set, and may be removed while it is looked at', () => {
    const table = new SlotMap<string>();
    table.set(2, 'a');
    table.set(2, 'b');
    table.set(-1.5, 'c');
    for (const [id] of table.entries()) table.delete(id);
    expect([table.size, table.values()]).toEqual([0, []]);
    table.set('x', 'd');
    table.clear();
    expect([table.size, table.has('x')]).toEqual([0, false]);
  });
});

describe('what is in order', () => {
  it('stands as it came, wherever others leave', () => {
    const list = new LinkedList<string>();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => list.add(name)) as [
      ListNode<string>,
      ListNode<string>,
      ListNode<string>,
      ListNode<string>,
    ];
    list.remove(b);
    expect([...list]).toEqual(['a', 'c', 'd']);
    list.remove(a);
    list.remove(d);
    expect([...list]).toEqual(['c']);
    list.remove(c);
    expect([[...list], list.isEmpty]).toEqual([[], true]);
    list.add('e');
    expect([[...list], list.isEmpty]).toEqual([['e'], false]);
    // A reference to a removed entry keeps no other entry alive.
    expect([a, b, c, d].flatMap(({ before, after }) => [before, after])).toEqual(Array(8).fill(undefined));
  });

  it('loses nothing when one leaves twice', () => {
    const list = new LinkedList<string>();
    const [a, b] = [list.add('a'), list.add('b')];
    list.add('c');
    for (const place of [b, b, a, a]) list.remove(place);
    expect([...list]).toEqual(['c']);
  });

  it('may lose one that is looked at', () => {
    const list = new LinkedList<number>();
    const places = [1, 2, 3].map((value) => list.add(value));
    const seen: number[] = [];
    for (const value of list) {
      seen.push(value);
      list.remove(places[value - 1] as ListNode<number>);
    }
    expect([seen, [...list]]).toEqual([[1, 2, 3], []]);
  });
});
