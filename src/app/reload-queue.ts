/** Reloads the config, one reload at a time. If the new config cannot be used, the old one stays in effect. */
import type { Config } from '../config/config.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { App } from './app.ts';
import type { Reloaded } from './apply-config.ts';

export interface ReloaderOptions {
  app: Pick<App, 'reload' | 'emit'>;
  /** Reads the config. Throws if it has errors. */
  load(): Config;
  /** Second participant of a reload: validates and throws to veto, or returns a commit that must not fail. */
  prepare?(config: Config): () => void;
  /** Called after the config was applied. */
  applied?(config: Config): void;
  log: Log;
}

export interface Reloader {
  /** Logs the error and rejects if the old config stays in effect. `cause` is for the log, such as `SIGHUP`. */
  reload(cause: string): Promise<Reloaded>;
  /** Runs `work` while no other reload runs, and passes it a function that reloads. */
  alone<T>(work: (reload: (cause: string) => Reloaded) => Promise<T>): Promise<T>;
}

export function createReloader({ app, load, prepare, applied, log }: ReloaderOptions): Reloader {
  let last: Promise<unknown> = Promise.resolve();

  const apply = (cause: string): Reloaded => {
    try {
      const config = load();
      const commit = prepare?.(config);
      const reloaded = app.reload(config);
      commit?.();
      applied?.(config);
      const message = summary(reloaded);
      log.info(`reloaded (${cause}): ${message}`);
      if (reloaded.restart.length > 0)
        log.warn(
          `these settings take effect at the next start: ${reloaded.restart.map((path) => `"${path}"`).join(', ')}`,
        );
      app.emit({ type: 'reload', ok: true, message });
      return reloaded;
    } catch (error) {
      const hint = error instanceof McpxError && error.hint !== undefined ? `\nhint: ${error.hint}` : '';
      log.error(`the config was not reloaded (${cause}), the old one stays in effect: ${messageOf(error)}${hint}`);
      app.emit({ type: 'reload', ok: false, message: messageOf(error) });
      throw error;
    }
  };
  const alone: Reloader['alone'] = (work) => {
    const mine = last.then(() => work(apply));
    last = mine.catch(() => undefined);
    return mine;
  };
  return { alone, reload: (cause) => alone(async (reload) => reload(cause)) };
}

function summary({ added, changed, removed }: Reloaded): string {
  const parts = Object.entries({ added, changed, removed }).filter(([, names]) => names.length > 0);
  const text = parts.map(([kind, names]) => `${kind} ${names.map((name) => `"${name}"`).join(', ')}`).join('; ');
  return text === '' ? 'no server changed' : text;
}
