/** Exposed names: the names that clients see for tools. They are made once per catalog and looked up, never parsed. */
import { createHash } from 'node:crypto';
import type { Settings } from '../config/config.ts';

/** The server and name that an exposed name denotes. */
export interface Named {
  server: string;
  /** Replaces the server's name in an exposed name, if that name is not ASCII. */
  label?: string | undefined;
  name: string;
}

/** Maps exposed names to items, in the order of the input. */
export type NameTable<T extends Named> = Map<string, T>;

type Naming = Pick<Settings['naming'], 'style' | 'separator' | 'maxLength' | 'onConflict'>;

/** Digits of the hash that keeps a shortened or conflicting name unique and stable. */
const HASH_LENGTH = 8;

/** Assigns exposed names. With `onConflict: "error"` items of the same name are all reported and none is exposed. */
export function exposeNames<T extends Named>(items: T[], naming: Naming): { table: NameTable<T>; conflicts: T[][] } {
  const groups = groupByName(items);
  const table: NameTable<T> = new Map();
  const conflicts: T[][] = [];
  for (const item of items) {
    const rivals = groups.get(item.name) ?? [item];
    if (naming.style === 'plain' && rivals.length > 1) {
      if (naming.onConflict === 'error') {
        if (rivals[0] === item) conflicts.push(rivals);
        continue;
      }
      if (rivals.at(naming.onConflict === 'first-wins' ? 0 : -1) !== item) continue;
    }
    const bare = naming.style === 'plain' || (naming.style === 'collision' && rivals.length === 1);
    const wanted = bare ? item.name : `${item.label ?? item.server}${naming.separator}${item.name}`;
    table.set(unique(shorten(wanted, naming.maxLength), item, naming.maxLength, table), item);
  }
  return { table, conflicts };
}

/** True if an item of that server can have this exposed name. */
export function mayBeOf(server: string, exposed: string, { style, separator, maxLength }: Naming): boolean {
  const prefix = `${server}${separator}`.slice(0, maxLength - HASH_LENGTH - 1);
  return style !== 'prefix' || exposed.startsWith(whole(prefix));
}

function groupByName<T extends Named>(items: T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(item.name);
    if (group === undefined) groups.set(item.name, [item]);
    else group.push(item);
  }
  return groups;
}

function shorten(name: string, maxLength: number): string {
  return name.length <= maxLength ? name : withHash(name, name, maxLength);
}

/**
 * Returns an unused name. `a__b` + `c` and `a` + `b__c` give the same name; the later item gets a hash of its address,
 * and another hash if that name is taken too.
 */
function unique<T extends Named>(wanted: string, { server, name }: T, maxLength: number, table: NameTable<T>): string {
  let free = wanted;
  for (let again = 0; table.has(free); again++) {
    free = withHash(wanted, JSON.stringify(again === 0 ? [server, name] : [server, name, again]), maxLength);
  }
  return free;
}

function withHash(name: string, hashed: string, maxLength: number): string {
  const hash = createHash('sha256').update(hashed).digest('hex').slice(0, HASH_LENGTH);
  return `${whole(name.slice(0, maxLength - HASH_LENGTH - 1))}_${hash}`;
}

/** Removes half a surrogate pair from the end of a truncated text. */
function whole(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '');
}
