/** Finds the lists of a server that changed. Unchanged items stay the same objects, so that most comparisons are of identity. */
import { type Interruptible, runInSteps } from '../event-loop.ts';
import type { Handshake } from '../upstream/handshake.ts';
import { LIST_KINDS, type ListKind, type Offer } from './listing.ts';

/** The lists that one server offers, with its instructions. */
export interface Stated {
  handshake: Pick<Handshake, 'instructions'> | undefined;
  offer: Offer;
}

/** Returns the lists that differ. Instructions are shown with the tools, so they belong to that list. */
export function changedLists(before: Stated, after: Stated): ListKind[] {
  const [old, now] = [before.offer, after.offer];
  const isSame: Record<ListKind, boolean> = {
    tools: before.handshake?.instructions === after.handshake?.instructions && isSameList(old.tools, now.tools),
    resources: isSameList(old.resources, now.resources) && isSameList(old.templates, now.templates),
    prompts: isSameList(old.prompts, now.prompts),
  };
  return LIST_KINDS.filter((kind) => !isSame[kind]);
}

/**
 * Returns the new list with the known objects in place of equal ones; the known list itself if nothing changed. Lists of
 * thousands are compared in steps, and equal lists for several sets of capabilities take memory once.
 */
export function reuseKnown<T extends object>(
  list: T[],
  known: readonly T[],
  keyOf: (item: T) => unknown,
): Promise<T[]> {
  return runInSteps(reused(list, known, keyOf));
}

function* reused<T extends object>(list: T[], known: readonly T[], keyOf: (item: T) => unknown): Interruptible<T[]> {
  if (known.length === 0) return list;
  const byKey = new Map(known.map((item) => [keyOf(item), item]));
  const all: T[] = [];
  for (const item of list) {
    const old = byKey.get(keyOf(item));
    all.push(old !== undefined && isEqual(old, item) ? old : item);
    yield;
  }
  const isUnchanged = all.length === known.length && all.every((item, place) => item === known[place]);
  return isUnchanged ? (known as T[]) : all;
}

function isSameList(before: readonly object[], after: readonly object[]): boolean {
  if (before === after) return true;
  return before.length === after.length && before.every((item, place) => isEqual(item, after[place]));
}

function isEqual(one: object, other: object | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
