/** Switches a server on or off in the config, for `mcpx enable` and `mcpx disable`. */

import { valueAt } from '../client-config/found-servers.ts';
import type { Config, ServerSpec } from '../config/config.ts';
import { isRecord, type JsonRecord, own } from '../config/json-data.ts';
import { readSource } from '../config/jsonc-file.ts';
import { McpxError } from '../errors.ts';
import type { Invocation } from './command.ts';
import { editEntry, entryNamed, findEntry, noteReload, refuseShared } from './config-edit.ts';
import { note, printJson } from './output.ts';

export async function switchServer(
  { args, flags }: Pick<Invocation, 'args' | 'flags'>,
  isOn: boolean,
): Promise<number> {
  const { config, spec } = findEntry(args[0] ?? '', flags);
  refuseShared(spec, flags);
  const { name } = spec;
  const { file } = spec.place;
  const state = isOn ? 'enabled' : 'disabled';
  const isDone = spec.disabled !== isOn;
  if (isDone) {
    note(`server "${name}" is ${state} already`);
  } else {
    const check = (after: Config) => {
      if (entryNamed(name, after).disabled !== isOn) return;
      throw new McpxError(
        'failed',
        `server "${name}" is switched by another part of the config, so it cannot be ${state} here`,
        {
          hint: `look for "${name}" in ${config.files.join(', ')}`,
        },
      );
    };
    await editEntry(config, { kind: 'change', name, fields: fieldsFor(spec, isOn) }, { flags, check });
    note(`server "${name}" is ${state} in ${file}`);
    noteReload();
  }
  if (flags.has('json')) await printJson({ name, file, enabled: isOn, changed: !isDone });
  return 0;
}

/** Returns the change of the entry. One with `enabled` keeps this key, because both keys together could contradict each other. */
function fieldsFor({ place }: ServerSpec, isOn: boolean): JsonRecord {
  const entry = valueAt(readSource(place.file).value, place.path);
  const hasEnabled = isRecord(entry) && own(entry, 'enabled') !== undefined;
  if (hasEnabled) return { enabled: isOn, disabled: null };
  return { disabled: isOn ? null : true };
}
