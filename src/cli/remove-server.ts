/** `mcpx remove`: takes a server out of the config, with the folder of its bundle. */
import { existsSync } from 'node:fs';
import type { Config, ServerSpec } from '../config/config.ts';
import { environmentOf } from '../config/environment.ts';
import { inputVariable } from '../config/expander.ts';
import { loadConfig } from '../config/load.ts';
import { secretsFile } from '../config/paths.ts';
import { placeholdersIn } from '../config/placeholders.ts';
import { messageOf } from '../errors.ts';
import { codeOf } from '../files.ts';
import { removeFolder } from '../server-packages/bundle.ts';
import { bundleFolderOf } from '../server-packages/bundle-folder.ts';
import type { Invocation } from './command.ts';
import { editEntry, findEntry, noteReload, refuseShared } from './config-edit.ts';
import { note, printJson } from './output.ts';
import { status } from './status-lines.ts';

export async function run({ args, flags }: Invocation): Promise<number> {
  const { config, spec } = findEntry(args[0] ?? '', flags);
  const { name } = spec;
  const { file } = spec.place;
  refuseShared(spec, flags);
  await editEntry(config, { kind: 'remove', name }, { flags });
  note(`removed server "${name}" from ${file}; the file before is ${file}.bak`);
  const folder = removeBundle(spec, loadConfig({ files: flags.values('config') }).config);
  if (folder !== undefined) note(`removed the folder of its bundle: ${folder}`);
  const secrets = inputsOf(spec);
  if (secrets.length > 0) note(`its secrets are still in ${secretsFile(environmentOf())}: ${secrets.join(', ')}`);
  noteReload();
  if (flags.has('json')) await printJson({ name, file, ...(folder !== undefined && { folder }), secrets });
  return 0;
}

/** Removes the folder of a bundle, unless another server runs from it, and returns it. */
function removeBundle(spec: ServerSpec, { profiles }: Config): string | undefined {
  const world = environmentOf();
  const folder = bundleFolderOf(spec, world);
  const isShared = profiles.some(({ servers }) => servers.some((other) => bundleFolderOf(other, world) === folder));
  if (folder === undefined || isShared || !existsSync(folder)) return undefined;
  try {
    removeFolder(folder);
    return folder;
  } catch (error) {
    // Windows keeps the files of a program that runs.
    status.warn(`the folder of its bundle could not be removed (${codeOf(error) ?? messageOf(error)}): ${folder}`);
    return undefined;
  }
}

/** Returns the variables of the secrets file that an entry uses. */
function inputsOf(spec: ServerSpec): string[] {
  const ids = placeholdersIn(JSON.stringify(spec)).flatMap((written) => /^\$\{input:(.+)\}$/.exec(written)?.[1] ?? []);
  return [...new Set(ids.map(inputVariable))];
}
