/** What comes and goes with every call: by its id, or in the order in which it came. */
import type { ExactNumber } from './exact.ts';

type Id = string | number | ExactNumber;

interface Slot<V> {
  id: Id;
  value: V | undefined;
}

/**
 * A Map that lets go of what is removed. V8 replaces the table of a Map all the time where entries come and go, and each old table points
 * to the next: one that has become old itself keeps alive whatever was ever in a later one. Here that is an empty slot and not a whole
 * call, which was a third of the time of a call under load.
 */
export class InFlight<V> {
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

  /** As they are now, the oldest first; whoever looks at them may add and remove. */
  entries(): [Id, V][] {
    return Array.from(this.#slots.values(), ({ id, value }) => [id, value as V]);
  }

  values(): V[] {
    return this.entries().map(([, value]) => value);
  }
}

/** The same exact number is another object each time it is read. */
function keyOf(id: Id): string | number {
  return typeof id === 'object' ? `number ${id.rawJSON}` : id;
}

/** Where something stands in an `InOrder`. */
export interface Place<V> {
  readonly value: V;
  before: Place<V> | undefined;
  after: Place<V> | undefined;
}

/** A list that each joins and leaves with a few writes, wherever it stands. */
export class InOrder<V> implements Iterable<V> {
  #first: Place<V> | undefined;
  #last: Place<V> | undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  add(value: V): Place<V> {
    const place: Place<V> = { value, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = place;
    else this.#last.after = place;
    this.#last = place;
    return place;
  }

  /** One that has left already is left alone. */
  remove(place: Place<V>): void {
    const { before, after } = place;
    if (before === undefined && this.#first !== place) return;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    // One that has left must not keep those alive that came after it.
    place.before = undefined;
    place.after = undefined;
  }

  /** The oldest first; whoever looks at one may remove it. */
  *[Symbol.iterator](): Generator<V> {
    for (let next = this.#first; next !== undefined; ) {
      const { value, after } = next;
      next = after;
      yield value;
    }
  }
}
