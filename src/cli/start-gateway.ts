/** Starts the HTTP listener on an App, for `serve --http` and `demo`. */
import { join } from 'node:path';
import type { App } from '../app/app.ts';
import type { Config } from '../config/config.ts';
import { resolveTokens } from '../config/env.ts';
import { environmentOf } from '../config/environment.ts';
import { secretKeyFile, sessionsFolder } from '../config/paths.ts';
import type { Administration } from '../listen/app-api.ts';
import { refuseOpenBind, refuseWithoutTls } from '../listen/http/guard.ts';
import { type HttpListener, listenHttp } from '../listen/http/http.ts';
import { createSecretKey } from '../listen/mcp/secret-key.ts';
import type { Log } from '../observe/log.ts';
import type { AccessTokens } from '../policy/access-tokens.ts';
import { createAuthenticator } from '../policy/auth.ts';
import { openAuthorizationServer, serverSettings } from './gateway-oauth-server.ts';
import { createIssuerAccessTokens } from './issuer-access-tokens.ts';

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
  const { host, port: wanted } = http;
  let port = wanted;
  // The demo writes no files.
  const isKept = config.files.length > 0;
  const file = isKept ? secretKeyFile(environmentOf()) : undefined;
  const endedFolder = isKept ? join(sessionsFolder(environmentOf()), 'ended') : undefined;
  const secretKey = createSecretKey({ file, log: more.log });
  const authorizationServer = openAuthorizationServer(config, { secretKey, log: more.log });
  const issuerTokens = createIssuerAccessTokens({ log: more.log, port: () => port });
  const sources = { builtin: () => authorizationServer, issuer: issuerTokens };
  let auth = createAuthenticator(resolveTokens(http.auth.tokens), { accessTokens: accessTokensOf(config, sources) });
  const kept = { secretKey, endedFolder, authorizationServer };
  const listener = await listenHttp({ gateway: app, settings: http, auth, ...kept, ...more });
  port = Number(new URL(listener.url).port);
  app.start();
  return {
    listener,
    prepare(changed) {
      const { settings } = changed;
      const serverNext = serverSettings(settings);
      const accessTokens = accessTokensOf(changed, sources);
      const next = createAuthenticator(resolveTokens(settings.http.auth.tokens), { before: auth, accessTokens });
      refuseOpenBind(host, next.required);
      refuseWithoutTls({ ...settings.http, host });
      return () => {
        auth = next;
        authorizationServer.configure(serverNext);
        listener.update(settings.http, next);
      };
    },
  };
}

/** Returns the source of access tokens that the settings name. */
function accessTokensOf(
  config: Config,
  sources: Record<'builtin' | 'issuer', (config: Config) => AccessTokens>,
): AccessTokens | undefined {
  const { mode } = config.settings.http.auth.oauth;
  return mode === 'off' ? undefined : sources[mode](config);
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
