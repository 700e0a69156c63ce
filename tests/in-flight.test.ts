/** The table of what is in flight: ids of both kinds, names that mean something to objects, and an order. */
import { describe, expect, it } from 'vitest';
import { InFlight } from '../src/in-flight.ts';

describe('what is in flight', () => {
  it('is found by its id until it is removed, a number and its text being two ids', () => {
    const table = new InFlight<string>();
    table.set(1, 'number');
    table.set('1', 'text');
    table.set(0, 'zero');
    expect([table.get(1), table.get('1'), table.get(0), table.get('0')]).toEqual(['number', 'text', 'zero', undefined]);
    expect(table.size).toBe(3);
    table.delete(1);
    table.delete(1);
    expect([table.has(1), table.has('1'), table.size]).toEqual([false, true, 2]);
  });

  it('may have any id that is text', () => {
    const table = new InFlight<number>();
    const ids = ['__proto__', 'constructor', 'hasOwnProperty', '', '"', '1.5', 'é', '\u0000'];
    expect(ids.filter((id) => table.has(id) || table.get(id) !== undefined)).toEqual([]);
    for (const [value, id] of ids.entries()) table.set(id, value);
    expect(ids.map((id) => table.get(id))).toEqual(ids.map((_, value) => value));
    expect(table.entries().map(([id]) => id)).toEqual(ids);
  });

  it('is counted once however often it is set, and may be removed while it is looked at', () => {
    const table = new InFlight<string>();
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
