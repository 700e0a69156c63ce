/** Catalogs on disk: the last known lists of each server, so that a start need not wait for them. One file per launch spec. */
import { createHash } from 'node:crypto';
import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerSpec } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import { ensureFolder, readIfPresent, writeFileAtomic } from '../files.ts';
import type { Log } from '../observe/log.ts';
import type { Handshake } from '../upstream/handshake.ts';
import { redactorOf } from '../upstream/secret-redactor.ts';
import { isRecord } from '../wire/message.ts';
import type { Offer } from './listing.ts';

/** The stored lists of one server. They hold only data that the server sent: no command, no environment, no header. */
export interface StoredCatalog {
  /** Lists by the set of client capabilities; the set seen last is the last entry. */
  bySet: ReadonlyMap<string, StoredOffer>;
  /** Time of the last listing, in epoch milliseconds. */
  at: number;
  /** True if the server changed definitions without changing its version. */
  unsteady?: boolean | undefined;
}

export interface StoredOffer {
  handshake: Handshake;
  offer: Offer;
  /** A digest of the folder that the server was started for, if its launch depends on one. */
  folder?: string | undefined;
}

export interface CatalogStore {
  read(spec: ServerSpec): StoredCatalog | undefined;
  write(spec: ServerSpec, catalog: StoredCatalog): void;
}

const DAY = 24 * 60 * 60_000;
/** Milliseconds after which an unused catalog is removed; if its server still exists, it is listed again. */
const KEPT = 90 * DAY;

/** Version of the file format; files of another version are ignored and replaced. */
const FORMAT = 2;

export interface StoreOptions {
  folder: string;
  log: Log;
}

export function createCatalogStore({ folder, log }: StoreOptions): CatalogStore {
  let told = false;
  let swept = false;
  const sweepOnce = () => {
    if (!swept) sweep(folder, Date.now() - KEPT);
    swept = true;
  };
  const tellOnce = (text: string) => {
    if (!told) log.warn(text);
    told = true;
  };
  return {
    read(spec) {
      const file = join(folder, `${launchKey(spec)}.json`);
      try {
        const text = readIfPresent(file);
        if (text === undefined) return undefined;
        const stored = parse(text);
        touch(file, log);
        return stored;
      } catch (error) {
        tellOnce(`the stored catalog "${file}" is ignored and will be written anew: ${messageOf(error)}`);
        return undefined;
      }
    },
    write(spec, catalog) {
      const file = join(folder, `${launchKey(spec)}.json`);
      const text = serialize(catalog);
      try {
        if (redactorOf(spec).finds(text)) {
          log.info(`what server "${spec.name}" offers is not stored: it quotes a value of its "env" or "headers"`);
          rmSync(file, { force: true });
          return;
        }
        ensureFolder(folder);
        writeFileAtomic(file, text);
        sweepOnce();
      } catch (error) {
        tellOnce(`catalogs cannot be stored in "${folder}": ${messageOf(error)}`);
      }
    },
  };
}

/**
 * Updates the time of a file that is read, at most once a day. Lists that never change are never rewritten, and would
 * otherwise be removed as unused.
 */
function touch(file: string, log: Log): void {
  const now = Date.now();
  try {
    if (statSync(file).mtimeMs < now - DAY) utimesSync(file, now / 1000, now / 1000);
  } catch (error) {
    // If the folder cannot be written, nothing is removed from it either.
    log.debug(`"${file}" keeps its time: ${messageOf(error)}`);
  }
}

/** Removes old files: every change of a command leaves files that are never read again. */
function sweep(folder: string, oldest: number): void {
  for (const name of readdirSync(folder)) {
    if (!/^[0-9a-f]{32}(?:\.failure)?\.json$/.test(name)) continue;
    const file = join(folder, name);
    const { mtimeMs = oldest } = statSync(file, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs < oldest) rmSync(file, { force: true });
  }
}

/** A store that stores nothing, for the demo and for tests. */
export const NO_STORE: CatalogStore = { read: () => undefined, write: () => undefined };

/** Fields that decide which program or service answers; names, filters and timeouts do not. */
const LAUNCH_FIELDS = new Set([
  'type',
  'command',
  'args',
  'env',
  'envFile',
  'cwd',
  'url',
  'headers',
  'module',
  'builtin',
]);

/**
 * Returns a key for the program or service of a server, with unresolved placeholders: another command or variable gives
 * another catalog.
 */
export function launchKey(spec: ServerSpec): string {
  const facts = Object.entries(spec).filter(([field]) => LAUNCH_FIELDS.has(field));
  facts.sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 32);
}

function serialize({ at, bySet, unsteady }: StoredCatalog): string {
  const sets = [...bySet].map(([offered, { handshake, offer, folder }]) => ({
    offered,
    folder,
    // The id of a connection means nothing to another process.
    hello: { ...handshake, conversation: undefined },
    offer,
  }));
  return JSON.stringify({ format: FORMAT, at, ...(unsteady === true && { unsteady }), sets });
}

function parse(text: string): StoredCatalog {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value) || value.format !== FORMAT) throw new Error('it has another format');
  const { at, sets } = value;
  if (typeof at !== 'number' || !Array.isArray(sets) || sets.length === 0) throw new Error('it is damaged');
  return { at, unsteady: value.unsteady === true, bySet: new Map(sets.map(readSet)) };
}

function readSet(value: unknown): [string, StoredOffer] {
  if (!isRecord(value)) throw new Error('it is damaged');
  const { offered, hello, offer, folder } = value;
  if (typeof offered !== 'string' || !isHello(hello) || !isOffer(offer)) throw new Error('it is damaged');
  return [offered, { handshake: hello, offer, ...(typeof folder === 'string' && { folder }) }];
}

function isHello(value: unknown): value is Handshake {
  return isRecord(value) && isRecord(value.capabilities) && isRecord(value.serverInfo) && typeof value.era === 'string';
}

function isOffer(value: unknown): value is Offer {
  if (!isRecord(value)) return false;
  const { tools, resources, templates, prompts } = value;
  const lists = [resources, templates, prompts].every((list) => Array.isArray(list) && list.every(isRecord));
  return lists && Array.isArray(tools) && tools.every(isListedTool);
}

function isListedTool(value: unknown): boolean {
  return (
    isRecord(value) &&
    typeof value.upstreamName === 'string' &&
    isRecord(value.tool) &&
    typeof value.tool.name === 'string'
  );
}
