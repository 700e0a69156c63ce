/** What comes and goes with every call, by its id. */

type Id = string | number;

interface Slot<V> {
  value: V | undefined;
}

/**
 * A Map that lets go of what is removed. V8 replaces the table of a Map all the time where entries come and go, and each old table points
 * to the next: one that has become old itself keeps alive whatever was ever in a later one. Here that is an empty slot and not a whole
 * call, which was a third of the time of a call under load.
 */
export class InFlight<V> {
  readonly #slots = new Map<Id, Slot<V>>();

  get size(): number {
    return this.#slots.size;
  }

  get(id: Id): V | undefined {
    return this.#slots.get(id)?.value;
  }

  has(id: Id): boolean {
    return this.#slots.has(id);
  }

  set(id: Id, value: V): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) this.#slots.set(id, { value });
    else slot.value = value;
  }

  delete(id: Id): void {
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    slot.value = undefined;
    this.#slots.delete(id);
  }

  clear(): void {
    for (const id of [...this.#slots.keys()]) this.delete(id);
  }

  /** As they are now, the oldest first; whoever looks at them may add and remove. */
  entries(): [Id, V][] {
    return [...this.#slots].map(([id, slot]) => [id, slot.value as V]);
  }

  values(): V[] {
    return this.entries().map(([, value]) => value);
  }
}
