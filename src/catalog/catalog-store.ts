/** Catalogs on disk: the last known lists of each server, so that a start need not wait for them. One file per launch spec. */
import { createHash } from 'node:crypto';
import { readdirSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerSpec } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import { type Interruptible, runAtOnce, runInSteps } from '../event-loop.ts';
import { ensureFolder, readFirstLine, readIfPresent, writeFileAtomic } from '../files.ts';
import type { Log } from '../observe/log.ts';
import type { Handshake } from '../upstream/handshake.ts';
import { redactorOf } from '../upstream/secret-redactor.ts';
import { readCatalog, readHead, type StoredCatalog, type StoredOffer, writeCatalog } from './catalog-file.ts';
import { createDeferredWrites } from './deferred-writes.ts';

export type { StoredCatalog } from './catalog-file.ts';

export interface CatalogStore {
  read(spec: ServerSpec): StoredCatalog | undefined;
  /** Reads a catalog; one with thousands of items is read in steps, and a promise is returned. */
  load(spec: ServerSpec): StoredCatalog | undefined | Promise<StoredCatalog | undefined>;
  /** Returns the last handshake of a server without reading its lists. */
  handshake(spec: ServerSpec): Handshake | undefined;
  /** Stores a catalog a moment later, or before, if `flush` is called. */
  write(spec: ServerSpec, catalog: StoredCatalog): void;
  /** Writes the catalogs that are not on disk yet. */
  flush(): void;
}

const DAY = 24 * 60 * 60_000;
/** Milliseconds after which an unused catalog is removed; if its server still exists, it is listed again. */
const KEPT = 90 * DAY;

/** Characters of a file that is read at once. */
const SMALL = 200_000;

export interface StoreOptions {
  folder: string;
  log: Log;
}

export function createCatalogStore({ folder, log }: StoreOptions): CatalogStore {
  const writes = createDeferredWrites();
  /** The catalogs that are not written yet, by the file. */
  const pending = new Map<string, StoredCatalog>();
  let told = false;
  let swept = false;
  const keyOf = createLaunchKeys();
  const fileOf = (spec: ServerSpec) => join(folder, `${keyOf(spec)}.json`);
  const sweepOnce = () => {
    if (!swept) sweep(folder, Date.now() - KEPT);
    swept = true;
  };
  const tellOnce = (text: string) => {
    if (!told) log.warn(text);
    told = true;
  };
  const ignore = (file: string, error: unknown) => {
    tellOnce(`the stored catalog "${file}" is ignored and will be written anew: ${messageOf(error)}`);
    return undefined;
  };
  const withText = <T>(file: string, use: (text: string) => T): T | undefined => {
    try {
      const text = readIfPresent(file);
      return text === undefined ? undefined : use(text);
    } catch (error) {
      return ignore(file, error);
    }
  };
  const used = (file: string, stored: StoredCatalog) => {
    touch(file, log);
    return stored;
  };

  function* save(spec: ServerSpec, file: string, catalog: StoredCatalog): Interruptible<void> {
    try {
      const text = yield* writeCatalog(catalog, redactorOf(spec).finds);
      if (text === undefined) {
        log.info(`what server "${spec.name}" offers is not stored: it quotes a value of its "env" or "headers"`);
        rmSync(file, { force: true });
      } else {
        ensureFolder(folder);
        // A file that a crash of the machine damages is written anew after the next list.
        writeFileAtomic(file, text, { sync: false });
        sweepOnce();
      }
    } catch (error) {
      tellOnce(`catalogs cannot be stored in "${folder}": ${messageOf(error)}`);
    }
    if (pending.get(file) === catalog) pending.delete(file);
  }

  return {
    read(spec) {
      const file = fileOf(spec);
      return pending.get(file) ?? withText(file, (text) => used(file, runAtOnce(readCatalog(text))));
    },
    load(spec) {
      const file = fileOf(spec);
      const waiting = pending.get(file);
      if (waiting !== undefined) return waiting;
      return withText(file, (text) => {
        if (text.length <= SMALL) return used(file, runAtOnce(readCatalog(text)));
        const failed = (error: unknown) => ignore(file, error);
        return runInSteps(readCatalog(text)).then((stored) => used(file, stored), failed);
      });
    },
    handshake(spec) {
      const file = fileOf(spec);
      const last = (sets: Iterable<StoredOffer>) => [...sets].at(-1)?.handshake;
      const waiting = pending.get(file);
      if (waiting !== undefined) return last(waiting.bySet.values());
      try {
        const line = readFirstLine(file);
        return line === undefined ? undefined : readHead(line).sets.at(-1)?.handshake;
      } catch (error) {
        return ignore(file, error);
      }
    },
    write(spec, catalog) {
      const file = fileOf(spec);
      pending.set(file, catalog);
      writes.add(file, () => save(spec, file, catalog));
    },
    flush: writes.flush,
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
export const NO_STORE: CatalogStore = {
  read: () => undefined,
  load: () => undefined,
  handshake: () => undefined,
  write: () => undefined,
  flush: () => undefined,
};

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

/** Returns `launchKey` for specs that are not changed; the key of each is computed once. */
export function createLaunchKeys(): typeof launchKey {
  const known = new WeakMap<ServerSpec, string>();
  return (spec) => {
    const key = known.get(spec) ?? launchKey(spec);
    known.set(spec, key);
    return key;
  };
}
