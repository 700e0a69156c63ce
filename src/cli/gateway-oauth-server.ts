/** Creates the built-in authorization server of `http.auth.oauth`, and its settings from the config. */
import type { Config, Settings } from '../config/config.ts';
import { resolvePassword, resolveTokens } from '../config/env.ts';
import { environmentOf } from '../config/environment.ts';
import { grantsFile } from '../config/paths.ts';
import { McpxError } from '../errors.ts';
import {
  type AuthorizationServer,
  createAuthorizationServer,
  type ServerSettings,
} from '../listen/authorization-server/authorization-server.ts';
import { profileScope } from '../listen/http/protected-resource.ts';
import type { SecretKey } from '../listen/mcp/secret-key.ts';
import type { Log } from '../observe/log.ts';
import { fetchClientDocument } from '../upstream/oauth/oauth.ts';

const DAY = 24 * 60 * 60_000;

/** The server works only while the settings name it; until then it reads and writes nothing. */
export function openAuthorizationServer(
  { settings, files }: Config,
  { secretKey, log }: { secretKey: SecretKey; log: Log },
): AuthorizationServer {
  // The demo writes no files.
  const file = files.length > 0 ? grantsFile(environmentOf()) : undefined;
  const fetchDocument = settings.offline ? undefined : fetchClientDocument;
  return createAuthorizationServer({ file, secretKey, fetchDocument, log }, serverSettings(settings));
}

/** Throws if nobody could sign in. */
export function serverSettings({ http }: Pick<Settings, 'http'>): ServerSettings {
  const { oauth } = http.auth;
  const tokens = resolveTokens(http.auth.tokens);
  const isOn = oauth.mode === 'builtin';
  const password = isOn ? resolvePassword(oauth) : undefined;
  if (isOn && tokens.length === 0 && password === undefined) {
    const hint = 'set "http.auth.oauth.builtin.password" to "${MCPX_PASSWORD}" and that variable, or add a token';
    throw new McpxError(
      'config',
      'nobody could sign in: the built-in authorization server has no token and no password',
      { hint },
    );
  }
  const lifetimes = { access: oauth.builtin.accessToken, refresh: oauth.builtin.signInDays * DAY };
  return { tokens, password, lifetimes, scopeOf: (profile) => profileScope(oauth, profile) ?? profile };
}
