/** The last failure of each server on disk, one file per launch spec, so that it is known without a start. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerSpec } from '../config/config.ts';
import { type ErrorCode, EXIT_CODES, signInData, toMcpxError } from '../errors.ts';
import { ensureFolder, readIfPresent, writeFileAtomic } from '../files.ts';
import { redactorOf } from '../upstream/secret-redactor.ts';
import { isRecord } from '../wire/message.ts';
import { createLaunchKeys } from './catalog-store.ts';

export interface StoredFailure {
  /** Epoch milliseconds. */
  at: number;
  code: ErrorCode;
  message: string;
  hint?: string | undefined;
  /** True if a sign-in of the user would solve it. */
  signIn?: boolean | undefined;
  /** True if the server did not answer in time, so that the next start may hang too. */
  slow?: boolean | undefined;
}

export interface FailureStore {
  read(spec: ServerSpec): StoredFailure | undefined;
  /** Replaces the last failure. A request that was cancelled is no failure of the server. */
  record(spec: ServerSpec, error: unknown): void;
  /** Deletes the failure of a server that works. */
  clear(spec: ServerSpec): void;
}

/** Maximum characters of a stored message and of its hint. */
const MAX_TEXT = 1000;

/** Creates a store in the folder of the catalogs, which removes the files of servers that are gone. */
export function createFailureStore({ folder }: { folder: string }): FailureStore {
  const keyOf = createLaunchKeys();
  const fileOf = (spec: ServerSpec) => join(folder, `${keyOf(spec)}.failure.json`);
  return {
    read: (spec) => parse(readOrNothing(fileOf(spec))),
    record(spec, error) {
      const { code, message, hint, fault } = toMcpxError(error);
      if (code === 'cancelled') return;
      const safe = (text: string) => redactorOf(spec).text(text).slice(0, MAX_TEXT);
      const isSignIn = signInData(error) !== undefined;
      const failure: StoredFailure = {
        at: Date.now(),
        code,
        message: safe(message),
        ...(hint !== undefined && { hint: safe(hint) }),
        ...(isSignIn && { signIn: true }),
        ...((code === 'timeout' || fault === 'slow') && { slow: true }),
      };
      ignoringErrors(() => {
        ensureFolder(folder);
        // The file is not synced: a failure that is lost in a crash of the machine shows again at the next start.
        writeFileAtomic(fileOf(spec), JSON.stringify(failure), { sync: false });
      });
    },
    clear(spec) {
      const file = fileOf(spec);
      // Few servers have failed, and to look for a file is quicker than to remove one that does not exist.
      if (existsSync(file)) ignoringErrors(() => rmSync(file, { force: true }));
    },
  };
}

/** A folder that cannot be written is reported once by the store of catalogs. */
function ignoringErrors(work: () => void): void {
  try {
    work();
  } catch {
    return;
  }
}

function readOrNothing(file: string): string | undefined {
  try {
    return readIfPresent(file);
  } catch {
    return undefined;
  }
}

function parse(text: string | undefined): StoredFailure | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || typeof value.at !== 'number' || typeof value.message !== 'string') return undefined;
    const { at, message, hint, code, signIn, slow } = value;
    return {
      at,
      message,
      code: isErrorCode(code) ? code : 'failed',
      ...(typeof hint === 'string' && { hint }),
      ...(signIn === true && { signIn }),
      ...(slow === true && { slow }),
    };
  } catch {
    // A file that was cut off is replaced by the next failure.
    return undefined;
  }
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(EXIT_CODES, code);
}
