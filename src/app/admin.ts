/** Administration at run time: one server in the config file is changed and applied, or neither is. */
import type { Config } from '../config/config.ts';
import { changedMeanwhile, type Edited, editServer, type ServerEdit, writeEdit } from '../config/edit.ts';
import { nameKey } from '../config/names.ts';
import { McpxError, messageOf } from '../errors.ts';
import { readIfPresent, withLock, writeFileAtomic } from '../files.ts';
import type { Administration } from '../listen/gateway.ts';
import { checkRemoteEdit, isHarmless } from '../policy/edits.ts';
import type { Reloader } from './reloader.ts';

export interface AdminOptions {
  reloader: Reloader;
  /** The config of the files, some of them with another text. */
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

/** The config of the files. While somebody saves one it may be empty or half written, which is no mistake in the edit. */
function asItIs(load: AdminOptions['load']): Config {
  try {
    return load(NONE);
  } catch (cause) {
    const hint = 'correct the file, or try again when it is saved';
    throw new McpxError('conflict', `the config cannot be changed as it is now: ${messageOf(cause)}`, { hint, cause });
  }
}

/** Places come from one reading of the file and the text from the next: between them it may have become another. */
function edited(config: Config, edit: ServerEdit): Edited {
  try {
    return editServer(config, edit);
  } catch (error) {
    const isOurs = error instanceof McpxError && error.code !== 'config';
    throw isOurs ? error : changedMeanwhile(config.files.at(-1) ?? '', error);
  }
}

/** Only what this edit wrote is taken back, and nothing that somebody else has saved since. */
function undo({ file, before, after }: Edited): void {
  if (readIfPresent(file) === after) writeFileAtomic(file, before);
}

/** Throws `refused` for what only the owner of the machine may decide, and for what would be of no use. */
function checkEdit(edit: ServerEdit, { now, next }: { now: Config; next: Config }): void {
  if (edit.kind === 'remove' || (edit.kind === 'change' && isHarmless(edit.fields))) return;
  if (!hasServer(next, edit.name))
    throw new McpxError('refused', `no profile would take the server "${edit.name}"`, {
      hint: 'its address must not be that of this gateway, and the "servers" of a profile must name it or "*"',
    });
  if (!now.settings.http.admin.commands) checkRemoteEdit(now, next);
}

function hasServer({ profiles }: Config, name: string): boolean {
  return profiles.some(({ servers }) => servers.some((spec) => nameKey(spec.name) === nameKey(name)));
}
