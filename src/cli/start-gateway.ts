/** Starts the HTTP listener on an App, for `serve --http` and `demo`. */
import { join } from 'node:path';
import type { App } from '../app/app.ts';
import type { Config } from '../config/config.ts';
import { resolveTokens } from '../config/env.ts';
import { environmentOf } from '../config/environment.ts';
import { secretKeyFile, sessionsFolder } from '../config/paths.ts';
import type { Administration } from '../listen/app-api.ts';
import { refuseOpenBind } from '../listen/http/guard.ts';
import { type HttpListener, listenHttp } from '../listen/http/http.ts';
import { createSecretKey } from '../listen/mcp/secret-key.ts';
import type { Log } from '../observe/log.ts';
import { createAuthenticator } from '../policy/auth.ts';

export interface OpenGateway {
  listener: HttpListener;
  /** Validates a new config for the listener and returns a function that applies it. */
  prepare(config: Config): () => void;
}

/** Binds the listener before it starts upstreams, so that no process is started if the port is in use. */
export async function openGateway(
  app: App,
  config: Config,
  more: { log: Log; admin?: Administration },
): Promise<OpenGateway> {
  const { http } = config.settings;
  let auth = createAuthenticator(resolveTokens(http.auth.tokens));
  // The demo writes no files.
  const isKept = config.files.length > 0;
  const file = isKept ? secretKeyFile(environmentOf()) : undefined;
  const endedFolder = isKept ? join(sessionsFolder(environmentOf()), 'ended') : undefined;
  const secretKey = createSecretKey({ file, log: more.log });
  const listener = await listenHttp({ gateway: app, settings: http, auth, secretKey, endedFolder, ...more });
  app.start();
  return {
    listener,
    prepare({ settings }) {
      const next = createAuthenticator(resolveTokens(settings.http.auth.tokens), auth);
      refuseOpenBind(http.host, next.required);
      return () => {
        auth = next;
        listener.update(settings.http, next);
      };
    },
  };
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
