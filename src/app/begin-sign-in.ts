/** Begins the sign-in to a server of a profile, for a client that can open its page. */
import type { ServerSpec, Settings } from '../config/config.ts';
import { resolveLaunch } from '../config/env.ts';
import { McpxError } from '../errors.ts';
import type { BeginSignIn } from '../router/sign-in-page.ts';
import type { ServerAccess } from '../upstream/http/authorization.ts';
import type { OAuth } from '../upstream/oauth/oauth.ts';

/** Returns a server with a URL as its sign-in needs it. `scopes` replaces the configured ones. */
export function accessTo(
  spec: ServerSpec,
  { connect }: Pick<Settings, 'connect'>,
  scopes?: string | undefined,
): ServerAccess {
  const { name } = spec;
  const launch = resolveLaunch(spec, { inheritEnv: connect.inheritEnv });
  if (!('url' in launch)) throw new McpxError('config', `server "${name}" has no URL`);
  const { url, headers, oauth, helper } = launch;
  return { name, url, headers, helper, oauth: scopes === undefined ? oauth : { ...oauth, scopes } };
}

export function beginnerOf(
  oauth: Pick<OAuth, 'signInOf'>,
  servers: () => readonly ServerSpec[],
  settings: Pick<Settings, 'connect'>,
): BeginSignIn {
  return async ({ signIn, scope }) => {
    const spec = servers().find(({ name }) => name === signIn);
    if (spec === undefined) throw new McpxError('not_found', `there is no server "${signIn}"`);
    return oauth.signInOf(accessTo(spec, settings, scope)).beginSignIn();
  };
}
