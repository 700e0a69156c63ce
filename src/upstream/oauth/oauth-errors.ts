/** Turns errors of the OAuth library into messages with the command that helps; no message contains a token. */
import type * as oauth from 'oauth4webapi';
import { McpxError } from '../../errors.ts';

/** A server as errors name it. */
export interface NamedServer {
  name: string;
  /** The command that signs in to it. */
  login: string;
}

/** Returns the command that signs in to a server. `options` are those that find its config, such as `--config x.json`. */
export function loginCommand(name: string, options: readonly string[] = []): string {
  return ['mcpx login', /^[\w.-]+$/.test(name) ? name : JSON.stringify(name), ...options].join(' ');
}

/** Returns the error for a server that needs a sign-in. `data.signIn` tells fronts that a sign-in page can be offered. */
export function signInNeeded({ name, login }: NamedServer, why = 'needs sign-in'): McpxError {
  return new McpxError('auth', `server "${name}" ${why}`, { hint: login, data: { signIn: name } });
}

/** Returns the OAuth error code in a response of the authorization server, such as `invalid_grant`. */
export function oauthErrorCode(error: unknown): string | undefined {
  const { error: code } = error as Partial<oauth.ResponseBodyError>;
  return typeof code === 'string' && /^[\x20-\x7e]{1,64}$/.test(code) ? code : undefined;
}

/** Codes of a refresh token that is no longer valid: that of RFC 6749, then those of GitHub and Slack. */
const ENDED_GRANT = ['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token'];

/** Returns true if the refresh token or the client is no longer valid, so that only a new sign-in helps. */
export function endsSignIn(error: unknown): boolean {
  return ['invalid_client', 'unauthorized_client', ...ENDED_GRANT].includes(oauthErrorCode(error) ?? '');
}

/** Returns true if the refresh token is no longer valid, but the client is. */
export function endsGrantOnly(error: unknown): boolean {
  return ENDED_GRANT.includes(oauthErrorCode(error) ?? '');
}

/** Describes a failed step of the sign-in. `sent` are the secrets of the request: some servers quote what they got. */
export function describeOAuthError(
  error: unknown,
  { name, login }: NamedServer,
  step: string,
  sent: string[] = [],
): McpxError {
  if (error instanceof McpxError) return error;
  const code = oauthErrorCode(error);
  const { error_description: said } = error as Partial<oauth.ResponseBodyError>;
  const words = typeof said === 'string' ? `: ${printable(withoutSecrets(said, sent))}` : '';
  const status = statusOf(error);
  const why = code !== undefined ? `"${code}"${words}` : status === undefined ? plainReason(error) : `HTTP ${status}`;
  const message = `${step} of server "${name}" failed: the authorization server answered ${why}`;
  return new McpxError('auth', message, { hint: login });
}

function statusOf(error: unknown): number | undefined {
  const cause = (error as { cause?: unknown }).cause;
  const response = cause instanceof Response ? cause : (error as { response?: unknown }).response;
  return response instanceof Response && response.status !== 200 ? response.status : undefined;
}

/** The library's messages quote no values; the cause does and is left out. */
function plainReason(error: unknown): string {
  return error instanceof Error ? `something that is not valid (${printable(error.message)})` : 'something else';
}

function withoutSecrets(text: string, secrets: string[]): string {
  const forms = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)]).filter((form) => form !== '');
  return forms.reduce((rest, form) => rest.replaceAll(form, '***'), text);
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e\u00a0-\uffff]/g, ' ').slice(0, 200);
}
