/** Starts the HTTP listener on an App, for `serve --http` and `demo`. */
import { join } from 'node:path';
import type { App } from '../app/app.ts';
import type { Config } from '../config/config.ts';
import { resolveTokens } from '../config/env.ts';
import { environmentOf } from '../config/environment.ts';
import { secretKeyFile, sessionsFolder } from '../config/paths.ts';
import { McpxError } from '../errors.ts';
import type { Administration } from '../listen/app-api.ts';
import { refuseOpenBind, refuseWithoutTls } from '../listen/http/guard.ts';
import { type HttpListener, listenHttp } from '../listen/http/http.ts';
import { createSecretKey } from '../listen/mcp/secret-key.ts';
import type { Log } from '../observe/log.ts';
import type { AccessTokens } from '../policy/access-tokens.ts';
import { createAuthenticator } from '../policy/auth.ts';
import { openAuthorizationServer, serverSettings } from './gateway-oauth-server.ts';

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
  // The demo writes no files.
  const isKept = config.files.length > 0;
  const file = isKept ? secretKeyFile(environmentOf()) : undefined;
  const endedFolder = isKept ? join(sessionsFolder(environmentOf()), 'ended') : undefined;
  const secretKey = createSecretKey({ file, log: more.log });
  const authorizationServer = openAuthorizationServer(config, { secretKey, log: more.log });
  let auth = createAuthenticator(resolveTokens(http.auth.tokens), {
    accessTokens: accessTokensOf(http, authorizationServer),
  });
  const kept = { secretKey, endedFolder, authorizationServer };
  const listener = await listenHttp({ gateway: app, settings: http, auth, ...kept, ...more });
  app.start();
  return {
    listener,
    prepare({ settings }) {
      const serverNext = serverSettings(settings);
      const accessTokens = accessTokensOf(settings.http, authorizationServer);
      const next = createAuthenticator(resolveTokens(settings.http.auth.tokens), { before: auth, accessTokens });
      refuseOpenBind(http.host, next.required);
      refuseWithoutTls({ ...settings.http, host: http.host });
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
  { auth: { oauth } }: Config['settings']['http'],
  builtin: AccessTokens,
): AccessTokens | undefined {
  if (oauth.mode === 'off') return undefined;
  if (oauth.mode === 'builtin') return builtin;
  const hint = 'set "http.auth.tokens" instead';
  throw new McpxError('config', `"http.auth.oauth.mode" cannot be "${oauth.mode}" in this version`, { hint });
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
