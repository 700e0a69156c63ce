/** Starts the HTTP listener on an App, for `serve --http` and `demo`. */
import { join } from 'node:path';
import type { App } from '../app/app.ts';
import type { Config } from '../config/config.ts';
import { resolveTokens } from '../config/env.ts';
import { secretKeyFile, sessionsFolder } from '../config/store.ts';
import { worldOf } from '../config/world.ts';
import type { Administration } from '../listen/gateway.ts';
import { refuseOpenBind } from '../listen/guard.ts';
import { type HttpListener, listenHttp } from '../listen/http.ts';
import { createSecretKey } from '../listen/secret-key.ts';
import type { Log } from '../observe/log.ts';
import { createAuthenticator } from '../policy/auth.ts';

export interface OpenGateway {
  listener: HttpListener;
  /** Checks what another config would mean for the listener; what it returns applies it. */
  prepare(config: Config): () => void;
}

/** The listener is bound first, so that a taken port starts no upstream. */
export async function openGateway(
  app: App,
  config: Config,
  more: { log: Log; admin?: Administration },
): Promise<OpenGateway> {
  const { http } = config.settings;
  let auth = createAuthenticator(resolveTokens(http.auth.tokens));
  // The demo leaves nothing behind.
  const isKept = config.files.length > 0;
  const file = isKept ? secretKeyFile(worldOf()) : undefined;
  const endedFolder = isKept ? join(sessionsFolder(worldOf()), 'ended') : undefined;
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
