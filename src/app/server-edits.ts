/** Administration at run time: edits one server in the config file and reloads, and undoes the edit if the reload fails. */
import type { Config } from '../config/config.ts';
import { changedMeanwhile, type Edited, editServer, type ServerEdit, writeEdit } from '../config/edit.ts';
import { nameKey } from '../config/server-names.ts';
import { McpxError, messageOf } from '../errors.ts';
import { readIfPresent, withLock, writeFileAtomic } from '../files.ts';
import type { Administration } from '../listen/app-api.ts';
import { checkRemoteEdit, isHarmless } from '../policy/admin-edits.ts';
import type { Reloader } from './reload-queue.ts';

export interface AdminOptions {
  reloader: Reloader;
  /** Loads the config; `texts` replaces the contents of some files. */
  load(texts?: ReadonlyMap<string, string>): Config;
}

const NONE: ReadonlyMap<string, string> = new Map();

export function createAdministration({ reloader, load }: AdminOptions): Administration {
  return {
    reload: () => reloader.reload('the API'),
    edit: (edit) =>
      reloader.alone(async (reload) => {
        const { file } = edited(asItIs(load), edit);
        return withLock(file, () => {
          const now = asItIs(load);
          const change = edited(now, edit);
          checkEdit(edit, { now, next: load(new Map([[change.file, change.after]])) });
          writeEdit(change);
          try {
            return reload('the API');
          } catch (error) {
            undo(change);
            throw error;
          }
        });
      }),
  };
}

/** Loads the current config. An error here is a conflict and not a mistake of the edit: a file may be half written. */
function asItIs(load: AdminOptions['load']): Config {
  try {
    return load(NONE);
  } catch (cause) {
    const hint = 'correct the file, or try again when it is saved';
    throw new McpxError('conflict', `the current config has an error and cannot be edited: ${messageOf(cause)}`, {
      hint,
      cause,
    });
  }
}

/** Applies the edit to the text. The file may have changed since the config was loaded, which is reported as a conflict. */
function edited(config: Config, edit: ServerEdit): Edited {
  try {
    return editServer(config, edit);
  } catch (error) {
    const isOurs = error instanceof McpxError && error.code !== 'config';
    throw isOurs ? error : changedMeanwhile(config.files.at(-1) ?? '', error);
  }
}

/** Restores the old text, unless the file has changed since this edit wrote it. */
function undo({ file, before, after }: Edited): void {
  if (readIfPresent(file) === after) writeFileAtomic(file, before);
}

/** Throws `refused` for an edit that only the operator may make, and for a server that no profile would use. */
function checkEdit(edit: ServerEdit, { now, next }: { now: Config; next: Config }): void {
  if (edit.kind === 'remove' || (edit.kind === 'change' && isHarmless(edit.fields))) return;
  if (!hasServer(next, edit.name))
    throw new McpxError('refused', `no profile would include the server "${edit.name}"`, {
      hint: 'its address must not be that of this gateway, and the "servers" of a profile must name it or "*"',
    });
  if (!now.settings.http.admin.commands) checkRemoteEdit(now, next);
}

function hasServer({ profiles }: Config, name: string): boolean {
  return profiles.some(({ servers }) => servers.some((spec) => nameKey(spec.name) === nameKey(name)));
}
