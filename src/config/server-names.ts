/** Names of servers: text that is valid in `server.tool` and in a URL path, and its ASCII form for tool names. */
import { removeAllInvisible } from '../invisible-characters.ts';
import type { ServerSpec } from './config.ts';

/** Text that every client accepts as a part of a tool name. */
const ASCII = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const MAX_LENGTH = 64;
/** A dot ends the server name in `server.tool`, and a slash ends it in a URL path. */
const UNFIT = /[./\\\t\n]/;
/** Lone surrogates, which neither a URL nor a file name can hold. */
const HALVES = /\p{Surrogate}/u;

export const NAME_RULE = '1 to 64 characters without dots, slashes and control characters';

export interface ServerName {
  name: string;
  /** The name as written; undefined if it did not have to be changed. */
  title?: string;
}

export function serverName(written: string): ServerName {
  const name = written.normalize('NFC');
  return isServerName(name) ? { name } : { name: tidy(name), title: written };
}

export function isServerName(text: string): boolean {
  if (text === '' || text.length > MAX_LENGTH || text.trim() !== text || UNFIT.test(text)) return false;
  // A command line takes a leading "-" as an option, and JavaScript treats `__proto__` as a special property.
  if (text.startsWith('-') || text === '__proto__') return false;
  return !HALVES.test(text) && removeAllInvisible(text) === text;
}

/** Returns the key for comparing names: it ignores case and the encoding of accents. */
export function nameKey(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

function tidy(written: string): string {
  const plain = removeAllInvisible(written)
    .replace(new RegExp(HALVES, 'gu'), '')
    .replace(/[./\\\s]+/g, '-')
    .replace(/^[-_]+|-+$/g, '')
    .slice(0, MAX_LENGTH)
    .replace(/[-\ud800-\udbff]+$/, '');
  // A name of dots only, for example, becomes empty; a stable hash replaces it.
  return plain === '' ? `server-${hash(written)}` : plain;
}

/** Returns the 32-bit FNV-1a hash in base 36. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value.toString(36);
}

/** Returns a part of a file name that is valid on every platform and differs for every name. */
export function fileNameOf(name: string): string {
  if (ASCII.test(name)) return name;
  const safe = name.replace(/[^\p{L}\p{N}\p{M}_-]+/gu, '-');
  return safe === name ? name : `${safe}-${hash(name)}`;
}

/** Gives servers whose name is not ASCII a label for exposed names: the ASCII part of the name, else the server's number. */
export function labelServers(maps: readonly Map<string, ServerSpec>[]): void {
  const names = maps.flatMap((servers) => [...servers.values()].map(({ name }) => name));
  const taken = new Set(names.filter((name) => ASCII.test(name)).map(nameKey));
  let place = 0;
  for (const servers of maps) {
    for (const [key, spec] of servers) {
      place += 1;
      if (ASCII.test(spec.name)) continue;
      const label = labelOf(spec.name, place, taken);
      taken.add(nameKey(label));
      servers.set(key, { ...spec, label });
    }
  }
}

function labelOf(name: string, place: number, taken: ReadonlySet<string>): string {
  const left = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[-_]+|-+$/g, '');
  const stem = left === '' ? 'server' : left;
  let label = left === '' ? `server-${place}` : left;
  for (let number = place; taken.has(nameKey(label)); number++) label = `${stem}-${number}`;
  return label;
}
