/** Administration at run time: one server in the config file is changed and applied, or neither is. */
import type { Config } from '../config/config.ts';
import { editServer, type ServerEdit, writeEdit } from '../config/edit.ts';
import { nameKey } from '../config/names.ts';
import { McpxError } from '../errors.ts';
import { withLock, writeFileAtomic } from '../files.ts';
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
        const { file } = editServer(load(NONE), edit);
        return withLock(file, () => {
          const now = load(NONE);
          const edited = editServer(now, edit);
          checkEdit(edit, { now, next: load(new Map([[edited.file, edited.after]])) });
          writeEdit(edited);
          try {
            return reload('the API');
          } catch (error) {
            writeFileAtomic(edited.file, edited.before);
            throw error;
          }
        });
      }),
  };
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
