/** Reads the config again and applies it, one reload after the other; a config that cannot be used leaves the old one running. */
import type { Config } from '../config/config.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { App } from './app.ts';
import type { Reloaded } from './reload.ts';

export interface ReloaderOptions {
  app: Pick<App, 'reload' | 'emit'>;
  /** Throws what is wrong with it. */
  load(): Config;
  /** What else takes a config: throws where it cannot, and returns what does it, which must not fail. */
  prepare?(config: Config): () => void;
  /** It was applied. */
  applied?(config: Config): void;
  log: Log;
}

export interface Reloader {
  /** Rejects, after it was logged, where the old config stays. `cause` is for the log, such as `SIGHUP`. */
  reload(cause: string): Promise<Reloaded>;
  /** Runs something while nothing else is reloaded; what it is given reloads. */
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
        log.warn(`takes effect at the next start: ${reloaded.restart.map((path) => `"${path}"`).join(', ')}`);
      app.emit({ type: 'reload', ok: true, message });
      return reloaded;
    } catch (error) {
      const hint = error instanceof McpxError && error.hint !== undefined ? `\nhint: ${error.hint}` : '';
      log.error(`the config was not reloaded (${cause}), the old one stays: ${messageOf(error)}${hint}`);
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
  return text === '' ? 'the servers are the same' : text;
}
