/** Collections for entries that are added and removed with every call: a map by id and a list in order of arrival. */
import type { LosslessNumber } from './lossless-json.ts';

type Id = string | number | LosslessNumber;

interface Slot<V> {
  id: Id;
  value: V | undefined;
}

/**
 * A Map that releases the values of removed entries. V8 reallocates the table of a Map that entries are added to and
 * removed from, and each old table points to the next: a table in the old generation keeps everything alive that a
 * later table ever held. Here that is an empty slot and not a whole call, which was a third of the time of a call under
 * load.
 */
export class SlotMap<V> {
  readonly #slots = new Map<string | number, Slot<V>>();

  get size(): number {
    return this.#slots.size;
  }

  get(id: Id): V | undefined {
    return this.#slots.get(keyOf(id))?.value;
  }

  has(id: Id): boolean {
    return this.#slots.has(keyOf(id));
  }

  set(id: Id, value: V): void {
    const key = keyOf(id);
    const slot = this.#slots.get(key);
    if (slot === undefined) this.#slots.set(key, { id, value });
    else slot.value = value;
  }

  delete(id: Id): void {
    const key = keyOf(id);
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    slot.value = undefined;
    this.#slots.delete(key);
  }

  clear(): void {
    for (const [id] of this.entries()) this.delete(id);
  }

  /** Returns a copy of the current entries, oldest first; the caller may add and remove entries while it iterates. */
  entries(): [Id, V][] {
    return Array.from(this.#slots.values(), ({ id, value }) => [id, value as V]);
  }

  values(): V[] {
    return this.entries().map(([, value]) => value);
  }
}

/** Returns the key of an id. An exact number is another object each time it is parsed, so its text is the key. */
function keyOf(id: Id): string | number {
  return typeof id === 'object' ? `number ${id.rawJSON}` : id;
}

/** The position of a value in the list. */
export interface ListNode<V> {
  readonly value: V;
  before: ListNode<V> | undefined;
  after: ListNode<V> | undefined;
}

/** A doubly linked list: a value is appended, and removed at any position, in constant time. */
export class LinkedList<V> implements Iterable<V> {
  #first: ListNode<V> | undefined;
  #last: ListNode<V> | undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  /** The oldest value; undefined if the list is empty. */
  get first(): V | undefined {
    return this.#first?.value;
  }

  add(value: V): ListNode<V> {
    const place: ListNode<V> = { value, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = place;
    else this.#last.after = place;
    this.#last = place;
    return place;
  }

  /** Removes a value; does nothing if it was removed already. */
  remove(place: ListNode<V>): void {
    const { before, after } = place;
    if (before === undefined && this.#first !== place) return;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // A removed place must not keep later places alive.
    place.before = undefined;
    place.after = undefined;
  }

  /** Iterates from the oldest value to the newest; the caller may remove the current value. */
  *[Symbol.iterator](): Generator<V> {
    for (let next = this.#first; next !== undefined; ) {
      const { value, after } = next;
      next = after;
      yield value;
    }
  }
}
