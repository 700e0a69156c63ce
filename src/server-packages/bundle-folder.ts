/** Finds the folder of an unpacked bundle from the entry of its server, so that it can be removed with it. */
import { join, relative, sep } from 'node:path';
import type { ServerSpec } from '../config/config.ts';
import type { Environment } from '../config/environment.ts';
import { bundlesFolder } from '../config/paths.ts';

/** Returns undefined for a server that does not run from a bundle. */
export function bundleFolderOf(spec: ServerSpec, world: Environment): string | undefined {
  if (spec.type !== 'stdio') return undefined;
  const parent = bundlesFolder(world);
  for (const path of [spec.cwd ?? '', spec.command, ...spec.args]) {
    if (!path.startsWith(parent + sep)) continue;
    const [name] = relative(parent, path).split(sep);
    if (name !== undefined && name !== '' && name !== '..' && name !== '.') return join(parent, name);
  }
  return undefined;
}
