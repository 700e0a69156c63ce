/** An OAuth error, as the token, registration and authorization endpoints send it. https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */

type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'unsupported_token_type'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'login_required'
  | 'access_denied'
  | 'temporarily_unavailable';

export class OAuthProblem extends Error {
  readonly error: OAuthErrorCode;
  readonly status: number;
  /** Seconds until a retry can succeed. */
  readonly wait: number | undefined;

  constructor(
    error: OAuthErrorCode,
    description: string,
    { status = 400, wait }: { status?: number; wait?: number } = {},
  ) {
    super(description);
    this.error = error;
    this.status = status;
    this.wait = wait;
  }
}

/** Returns the problem of a client that is over a limit. */
export function tooMany(subject: string, wait: number): OAuthProblem {
  return new OAuthProblem('temporarily_unavailable', `too many ${subject}: try again in ${wait} s`, {
    status: 429,
    wait,
  });
}
