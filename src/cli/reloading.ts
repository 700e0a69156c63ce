/** When `serve` reads its config again: on SIGHUP where it serves over HTTP, and when a file changes where that was asked for. */
import type { App } from '../app/app.ts';
import { createReloader, type Reloader } from '../app/reloader.ts';
import { type FileWatch, watchFiles } from '../app/watch.ts';
import type { Config } from '../config/config.ts';
import { envFilesOf } from '../config/env.ts';
import { secretsFile } from '../config/store.ts';
import { worldOf } from '../config/world.ts';
import type { Log } from '../observe/log.ts';

export interface ReloadingOptions {
  app: App;
  config: Config;
  /** The same files, variables and options as at the start. */
  load(): Config;
  prepare(config: Config): () => void;
  log: Log;
}

export interface Reloading extends Reloader {
  close(): void;
}

export function createReloading({ app, config, load, prepare, log }: ReloadingOptions): Reloading {
  let watch: FileWatch | undefined;
  const reloader = createReloader({
    ...{ app, load, prepare, log },
    applied: (next) => watch?.update(filesOf(next)),
  });
  if (config.settings.watch && config.files.length > 0) {
    // It was logged why the old config stays.
    watch = watchFiles(filesOf(config), () => void reloader.reload('a file changed').catch(() => undefined));
  }
  return { ...reloader, close: () => watch?.close() };
}

/** Everything that a launch may read. */
function filesOf({ files, profiles, settings }: Config): string[] {
  const { inheritEnv } = settings.connect;
  const behind = profiles.flatMap(({ servers }) => servers.flatMap((spec) => envFilesOf(spec, { inheritEnv })));
  return [...new Set([...files, ...behind, secretsFile(worldOf())])];
}
