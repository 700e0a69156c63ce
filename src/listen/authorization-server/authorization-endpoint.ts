/** The authorization endpoint: shows the consent page, checks the answer of the user, and leads back to the client. */
import { messageOf } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import type { AttemptLimits } from '../../policy/attempt-limits.ts';
import { sendEmpty } from '../http/http-response.ts';
import {
  type AskingClient,
  type AuthorizationRequest,
  type ClientLookup,
  checkRequest,
  findAskingClient,
} from './authorization-request.ts';
import type { ConsentForms, OpenForm } from './consent-form.ts';
import { sendConsentPage, sendFailurePage, sendOnward } from './consent-page.ts';
import { CONSENT_WORDS, type Language, preferredLanguage } from './consent-words.ts';
import type { Credential, Credentials } from './credentials.ts';
import type { GrantStore } from './grant-store.ts';
import { type OAuthExchange, parametersOf, quotable, readForm } from './oauth-exchange.ts';
import { OAuthProblem } from './oauth-problem.ts';
import { isLoopbackHost, redirectHost, withParameters } from './redirect-uris.ts';

export interface AuthorizationDeps {
  clients: ClientLookup;
  forms: ConsentForms;
  grants: Pick<GrantStore, 'agree'>;
  credentials(): Credentials;
  /** Limits what users enter. */
  attempts: AttemptLimits;
  /** Returns the existing profiles that a request asks for: by its scopes, else that of the resource, else the main one. */
  profilesOf(request: Pick<AuthorizationRequest, 'scopes' | 'profile'>): string[];
  /** Records the decision. */
  decided(
    grant: { id: string; client: string; token: string | null; profiles: string[] },
    exchange: OAuthExchange,
  ): void;
  log: Pick<Log, 'warn'>;
}

/** Serves GET: shows the page, or sends the error to the client if its redirect URI is known. */
export async function serveAuthorization(exchange: OAuthExchange, deps: AuthorizationDeps): Promise<void> {
  const { request, response, query, address, base } = exchange;
  const language = languageOf(exchange);
  let client: AskingClient | undefined;
  try {
    const parameters = parametersOf(query);
    client = await findAskingClient(parameters, deps.clients, {
      address,
      isLocal: isLoopbackHost(new URL(base).hostname),
    });
    const asked = checkRequest(parameters, client, base);
    const { text, cookie } = deps.forms.open(asked, base, request);
    sendConsentPage(response, language, { form: text, request: asked, cookie });
  } catch (error) {
    if (!(error instanceof OAuthProblem)) throw error;
    if (client === undefined) return sendProblemPage(exchange, error);
    refuse(exchange, client, error);
  }
}

/**
 * Tells the client about a request that is refused. Anybody can register a redirect URI, so the browser goes to another host
 * only if its user wants that; else the gateway would lead from its own name to any site (RFC 9700, 4.11.2).
 */
function refuse(exchange: OAuthExchange, client: AskingClient, { error, message }: OAuthProblem): void {
  const described = { error, error_description: quotable(message) };
  const to = withParameters(client.redirectUri, { ...described, ...answerOf(client, exchange.base) });
  const { protocol, hostname } = new URL(to);
  if (protocol === 'http:' && isLoopbackHost(hostname)) sendEmpty(exchange.response, 302, { Location: to });
  else sendFailurePage(exchange.response, languageOf(exchange), { message, to });
}

function sendProblemPage(exchange: OAuthExchange, { message, status, wait }: OAuthProblem): void {
  const headers = wait === undefined ? {} : { 'Retry-After': String(wait) };
  sendFailurePage(exchange.response, languageOf(exchange), { message, status, headers });
}

/** The parameters of every response to a client; `iss` is against mix-up. https://www.rfc-editor.org/rfc/rfc9207 */
const answerOf = ({ state }: Pick<AskingClient, 'state'>, iss: string) => ({ state, iss });

/** Serves POST: the answer of the user. */
export async function serveConsent(exchange: OAuthExchange, deps: AuthorizationDeps): Promise<void> {
  const { request, response } = exchange;
  try {
    const parameters = await readForm(exchange);
    const form = deps.forms.read(parameters.get('form') ?? '', request);
    if (form === undefined) return sendFailurePage(response, languageOf(exchange), { message: undefined });
    if (parameters.get('decision') !== 'allow') return deny(exchange, form, deps);
    await allow(exchange, form, { secret: parameters.get('secret') ?? '', text: parameters.get('form') ?? '' }, deps);
  } catch (error) {
    if (!(error instanceof OAuthProblem)) throw error;
    sendProblemPage(exchange, error);
  }
}

function deny(
  exchange: OAuthExchange,
  { id, request: { client }, base }: OpenForm,
  { forms }: AuthorizationDeps,
): void {
  forms.close(id);
  const to = withParameters(client.redirectUri, { error: 'access_denied', ...answerOf(client, base) });
  sendOnward(exchange.response, languageOf(exchange), { to, isAllowed: false });
}

async function allow(
  exchange: OAuthExchange,
  form: OpenForm,
  { secret, text }: { secret: string; text: string },
  deps: AuthorizationDeps,
): Promise<void> {
  const words = CONSENT_WORDS[languageOf(exchange)];
  const again = (problem: string, status: number, headers = {}) =>
    sendConsentPage(exchange.response, languageOf(exchange), {
      ...{ form: text, request: form.request, problem, status, headers },
    });
  // Every attempt counts before it is checked, so that a guess cannot succeed beyond the limit.
  const wait = deps.attempts(exchange.address);
  if (wait !== undefined) return again(words.braked(wait), 429, { 'Retry-After': String(wait) });
  const credential = deps.credentials().match(secret);
  if (credential === undefined) {
    deps.log.warn(`a wrong token or password was entered for an OAuth client, from "${exchange.address}"`);
    return again(words.wrong, 403);
  }
  const profiles = grantedProfiles(form.request, credential, deps);
  if (profiles.length === 0) return again(words.noProfile, 403);
  const code = await agree(form, { credential, profiles }, exchange, deps);
  if (code === undefined) return again(words.notStored, 503, { 'Retry-After': '5' });
  deps.forms.close(form.id);
  const { client } = form.request;
  const to = withParameters(client.redirectUri, { code, ...answerOf(client, form.base) });
  sendOnward(exchange.response, languageOf(exchange), { to, isAllowed: true });
}

/** Returns the profiles that the client asked for, the resource is for, and the token of the user may use. */
function grantedProfiles(request: AuthorizationRequest, { rights }: Credential, deps: AuthorizationDeps): string[] {
  const { profile } = request;
  const asked = deps.profilesOf(request);
  const ofResource = profile === null ? asked : asked.filter((name) => name === profile);
  return ofResource.filter((name) => rights.profiles?.includes(name) ?? true);
}

/** Stores the grant and returns its code; undefined if it cannot be stored. */
async function agree(
  { id: form, request }: OpenForm,
  { credential, profiles }: { credential: Credential; profiles: string[] },
  exchange: OAuthExchange,
  deps: AuthorizationDeps,
): Promise<string | undefined> {
  const { client, resource, challenge } = request;
  const { token, binding } = credential;
  const { redirectUri } = client;
  const known = { id: client.id, name: client.name, redirectHost: redirectHost(redirectUri) };
  try {
    const agreed = { client: known, token, binding, profiles, resource, form, redirectUri, challenge };
    const { code, grant } = await deps.grants.agree(agreed);
    deps.decided({ id: grant.id, client: client.name || client.id, token, profiles }, exchange);
    return code;
  } catch (error) {
    if (error instanceof OAuthProblem) throw error;
    deps.log.warn(`the permission for an OAuth client cannot be stored: ${messageOf(error)}`);
    return undefined;
  }
}

function languageOf({ request }: OAuthExchange): Language {
  return preferredLanguage(request.headers['accept-language']);
}
