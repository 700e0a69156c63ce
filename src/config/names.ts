/** Names of servers: any text that fits into `server.tool` and a path of a URL, and its ASCII form for names of tools. */
import { removeAllInvisible } from '../invisible.ts';
import type { ServerSpec } from './config.ts';

/** What every client takes as a part of a tool's name. */
const ASCII = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const MAX_LENGTH = 64;
/** A dot ends the name in `server.tool`, and a slash ends it in a path. */
const UNFIT = /[./\\\t\n]/;
/** Half characters, which no URL and no file name can hold. */
const HALVES = /\p{Surrogate}/u;

export const NAME_RULE = '1 to 64 characters without dots, slashes and control characters';

export interface ServerName {
  name: string;
  /** As written, where it had to be changed. */
  title?: string;
}

export function serverName(written: string): ServerName {
  const name = written.normalize('NFC');
  return isServerName(name) ? { name } : { name: tidy(name), title: written };
}

export function isServerName(text: string): boolean {
  if (text === '' || text.length > MAX_LENGTH || text.trim() !== text || UNFIT.test(text)) return false;
  // A shell takes the one for an option, and JavaScript the other for no property at all.
  if (text.startsWith('-') || text === '__proto__') return false;
  return !HALVES.test(text) && removeAllInvisible(text) === text;
}

/** Names are compared without case, so that `GitHub` and `github` are one, however their accents are encoded. */
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
  // Nothing is left of a name that is nothing but dots, say: a number that stays the same stands for it.
  return plain === '' ? `server-${hash(written)}` : plain;
}

/** FNV-1a, 32 bits, base 36. */
function hash(text: string): string {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value.toString(36);
}

/** A part of a file name that is safe on every system, and another one for every name. */
export function fileNameOf(name: string): string {
  if (ASCII.test(name)) return name;
  const safe = name.replace(/[^\p{L}\p{N}\p{M}_-]+/gu, '-');
  return safe === name ? name : `${safe}-${hash(name)}`;
}

/** Gives servers with other names their ASCII form for exposed names: what is left of the name, else their place among all servers. */
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
