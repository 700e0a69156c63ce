/** Triggers of reloads in `serve`: SIGHUP if it serves over HTTP, and changed files if `watch` is set. */
import type { App } from '../app/app.ts';
import { createReloader, type Reloader } from '../app/reload-queue.ts';
import { type FileWatch, watchFiles } from '../app/watch-files.ts';
import type { Config } from '../config/config.ts';
import { envFilesOf } from '../config/env.ts';
import { environmentOf } from '../config/environment.ts';
import { secretsFile } from '../config/paths.ts';
import type { Log } from '../observe/log.ts';

export interface ReloadingOptions {
  app: App;
  config: Config;
  /** Loads the config with the same files, variables and options as at the start. */
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
    // The reloader has logged the error.
    watch = watchFiles(filesOf(config), () => void reloader.reload('a file changed').catch(() => undefined));
  }
  return { ...reloader, close: () => watch?.close() };
}

/** Returns the config files and the env files of all servers. */
function filesOf({ files, profiles, settings }: Config): string[] {
  const { inheritEnv } = settings.connect;
  const behind = profiles.flatMap(({ servers }) => servers.flatMap((spec) => envFilesOf(spec, { inheritEnv })));
  return [...new Set([...files, ...behind, secretsFile(environmentOf())])];
}
