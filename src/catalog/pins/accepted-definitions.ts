/** The accepted definitions in memory: follows the lock file, which other processes write too. */
import { McpxError, messageOf } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import type { LockFile, LockReading, LockState } from './lock-file.ts';

/** Milliseconds between two checks of the lock file. */
const LOOK = 500;

/** The accepted definitions. Nothing is accepted if the file cannot be used. */
export type Known = { state: LockState; broken?: undefined } | { state?: undefined; broken: McpxError };

export interface AcceptedDefinitions {
  /** Grows with every change of the definitions. */
  readonly revision: number;
  /** Returns the definitions; reads the file again if the last check is older than `patience` milliseconds. */
  look(patience?: number): Known;
  /** Applies a change in memory at once, and in the file as soon as no other process writes it. */
  change(edit: (state: LockState) => void): void;
}

export interface AcceptedOptions {
  log: Log;
  file: LockFile | undefined;
  /** Called with definitions that replace the earlier ones. */
  replaced(state: LockState): void;
}

export function createAcceptedDefinitions({ log, file, replaced }: AcceptedOptions): AcceptedDefinitions {
  let known: Known = { state: new Map() };
  /** True after the first check of the file. */
  let begun = false;
  /** Why the file cannot be read at the moment; undefined if it can. */
  let unread: string | undefined;
  let looked = Number.NEGATIVE_INFINITY;
  let revision = 0;

  /**
   * True if the accepted definitions stay valid although the file was removed or cannot be read; the next start begins
   * anew.
   */
  const outlasts = (reading: LockReading): boolean => {
    const failure = reading.kind === 'broken' && reading.unread ? reading.error.message : undefined;
    const holds = known.state !== undefined && begun && (reading.kind === 'missing' || failure !== undefined);
    if (holds && failure !== undefined && failure !== unread)
      log.error(`${failure}; what was accepted before holds, and nothing else`);
    unread = failure;
    return holds;
  };

  const take = (next: LockState | McpxError) => {
    revision += 1;
    known = next instanceof McpxError ? { broken: next } : { state: next };
    const { state, broken } = known;
    if (broken === undefined) replaced(state);
    else log.error(`${broken.message}; until it is repaired every call is refused: ${broken.hint}`);
  };

  return {
    get revision() {
      return revision;
    },
    look(patience = LOOK) {
      const now = performance.now();
      if (now - looked < patience) return known;
      looked = now;
      const reading = file?.read();
      if (reading !== undefined && !outlasts(reading)) {
        const next = reading.kind === 'broken' ? reading.error : reading.kind === 'missing' ? new Map() : reading.state;
        const same = next instanceof McpxError ? next.message === known.broken?.message : next === known.state;
        if (!same) take(next);
      }
      begun = true;
      return known;
    },
    change(edit) {
      if (known.state !== undefined) edit(known.state);
      revision += 1;
      file?.change(edit).catch((error: unknown) => log.error(`the lock file cannot be written: ${messageOf(error)}`));
    },
  };
}
