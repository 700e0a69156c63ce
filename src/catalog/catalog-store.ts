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

export function createCatalogStore(options: StoreOptions): CatalogStore {
  return new CatalogFolder(options);
}

class CatalogFolder implements CatalogStore {
  readonly #folder: string;
  readonly #log: Log;
  readonly #writes = createDeferredWrites();
  readonly #keyOf = createLaunchKeys();
  /** The catalogs that are not written yet, by the file. */
  readonly #pending = new Map<string, StoredCatalog>();
  #hasWarned = false;
  #isSwept = false;

  constructor({ folder, log }: StoreOptions) {
    this.#folder = folder;
    this.#log = log;
  }

  read(spec: ServerSpec): StoredCatalog | undefined {
    const file = this.#fileOf(spec);
    return this.#pending.get(file) ?? this.#withText(file, (text) => this.#used(file, runAtOnce(readCatalog(text))));
  }

  load(spec: ServerSpec): StoredCatalog | undefined | Promise<StoredCatalog | undefined> {
    const file = this.#fileOf(spec);
    const waiting = this.#pending.get(file);
    if (waiting !== undefined) return waiting;
    return this.#withText(file, (text) => {
      if (text.length <= SMALL) return this.#used(file, runAtOnce(readCatalog(text)));
      const failed = (error: unknown) => this.#ignore(file, error);
      return runInSteps(readCatalog(text)).then((stored) => this.#used(file, stored), failed);
    });
  }

  handshake(spec: ServerSpec): Handshake | undefined {
    const file = this.#fileOf(spec);
    const last = (sets: Iterable<Pick<StoredOffer, 'handshake'>>) => [...sets].at(-1)?.handshake;
    const waiting = this.#pending.get(file);
    if (waiting !== undefined) return last(waiting.bySet.values());
    try {
      const line = readFirstLine(file);
      return line === undefined ? undefined : last(readHead(line).sets);
    } catch (error) {
      return this.#ignore(file, error);
    }
  }

  write(spec: ServerSpec, catalog: StoredCatalog): void {
    const file = this.#fileOf(spec);
    this.#pending.set(file, catalog);
    this.#writes.add(file, () => this.#save(spec, file, catalog));
  }

  flush(): void {
    this.#writes.flush();
  }

  #fileOf(spec: ServerSpec): string {
    return join(this.#folder, `${this.#keyOf(spec)}.json`);
  }

  *#save(spec: ServerSpec, file: string, catalog: StoredCatalog): Interruptible<void> {
    try {
      const text = yield* writeCatalog(catalog, redactorOf(spec).finds);
      if (text === undefined) {
        this.#log.info(`what server "${spec.name}" offers is not stored: it quotes a value of its "env" or "headers"`);
        rmSync(file, { force: true });
      } else {
        ensureFolder(this.#folder);
        // A file that a crash of the machine damages is written anew after the next list.
        writeFileAtomic(file, text, { sync: false });
        this.#sweepOnce();
      }
    } catch (error) {
      this.#warnOnce(`catalogs cannot be stored in "${this.#folder}": ${messageOf(error)}`);
    }
    if (this.#pending.get(file) === catalog) this.#pending.delete(file);
  }

  #withText<T>(file: string, use: (text: string) => T): T | undefined {
    try {
      const text = readIfPresent(file);
      return text === undefined ? undefined : use(text);
    } catch (error) {
      return this.#ignore(file, error);
    }
  }

  #used(file: string, stored: StoredCatalog): StoredCatalog {
    touch(file, this.#log);
    return stored;
  }

  #ignore(file: string, error: unknown): undefined {
    this.#warnOnce(`the stored catalog "${file}" is ignored and will be written anew: ${messageOf(error)}`);
  }

  #warnOnce(text: string): void {
    if (!this.#hasWarned) this.#log.warn(text);
    this.#hasWarned = true;
  }

  #sweepOnce(): void {
    if (!this.#isSwept) sweep(this.#folder, Date.now() - KEPT);
    this.#isSwept = true;
  }
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

/** Returns a store that has no lists and passes new ones on, so that every server is listed. */
export function writeOnly(store: CatalogStore): CatalogStore {
  return { ...NO_STORE, write: (...lists) => store.write(...lists), flush: () => store.flush() };
}

/** Returns a store that keeps no new lists, for a folder that cannot be written. */
export function readOnly(store: CatalogStore): CatalogStore {
  return {
    ...NO_STORE,
    read: (spec) => store.read(spec),
    load: (spec) => store.load(spec),
    handshake: (spec) => store.handshake(spec),
  };
}

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
