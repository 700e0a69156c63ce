/** Administration at run time: one server in the config file is changed and applied, or neither is. */
import type { Config, ServerSpec } from '../config/config.ts';
import { editServer, type ServerEdit, writeEdit } from '../config/edit.ts';
import { nameKey } from '../config/names.ts';
import { McpxError } from '../errors.ts';
import { withLock, writeFileAtomic } from '../files.ts';
import type { Administration } from '../listen/gateway.ts';
import type { Reloader } from './reloader.ts';

export interface AdminOptions {
  reloader: Reloader;
  /** The config of the files, some of them with another text. */
  load(texts?: ReadonlyMap<string, string>): Config;
}

/** Fields of a server that runs a program which may be changed from afar: they neither choose it nor feed it. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['disabled', 'enabled', 'description', 'tools', 'resources', 'prompts'],
  ...['timeout', 'startupTimeout', 'concurrency', 'share', 'reconnect'],
]);

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

/** Throws `refused` for what only the owner of the machine may decide. */
function checkEdit(edit: ServerEdit, { now, next }: { now: Config; next: Config }): void {
  if (edit.kind === 'remove') return;
  const spec = specOf(next, edit.name);
  if (spec === undefined) {
    const hint = 'add it to the "servers" of a profile first';
    if (edit.kind === 'change') return;
    throw new McpxError('refused', `no profile would take the server "${edit.name}"`, { hint });
  }
  if (now.settings.http.admin.commands) return;
  const hint = 'set "http": {"admin": {"commands": true}} in the config to allow it';
  const fields = edit.kind === 'add' ? edit.entry : edit.fields;
  const harmless = edit.kind === 'change' && Object.keys(fields).every((field) => HARMLESS.has(field));
  if (!('url' in spec) && !harmless)
    throw new McpxError('refused', `server "${edit.name}" would run a program, and only URLs are accepted`, { hint });
  // With one a variable or a file of this machine would be sent to whatever address the entry names.
  if (PLACEHOLDER.test(JSON.stringify(fields)))
    throw new McpxError('refused', `placeholders are not accepted for server "${edit.name}"`, { hint });
}

const PLACEHOLDER = /\$\{|\{(?:env|file):|\$env:/i;

function specOf({ profiles }: Config, name: string): ServerSpec | undefined {
  return profiles.flatMap(({ servers }) => servers).find((spec) => nameKey(spec.name) === nameKey(name));
}
