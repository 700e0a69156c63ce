/** Signs a user in on another device (RFC 8628): mcpx shows a code and asks for the tokens until the user has entered it. */
import * as oauth from 'oauth4webapi';
import { McpxError } from '../../errors.ts';
import { asName } from '../../render/text.ts';
import { checkIssuer, clientAuthentication, identifyClient, requestOptions } from './client-registration.ts';
import { discover } from './discovery.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { describeOAuthError, type NamedServer, signInNeeded } from './oauth-errors.ts';
import { bodyOf, tokenResponse } from './response-body.ts';
import { registeredAt, type SignInRequest, scopeOf, store } from './sign-in.ts';
import type { SignIn } from './token-file.ts';
import { storedTokens } from './token-requests.ts';

export interface DeviceSignIn {
  /** The page on which the user enters the code. */
  readonly url: string;
  readonly code: string;
  readonly done: Promise<SignIn>;
}

/** Seconds between two questions, whatever the authorization server wants, and seconds that a user has at most. */
const INTERVAL = { default: 5, min: 1, max: 60 };
const MAX_PATIENCE = 3600;

/** Begins a sign-in on another device. */
export async function beginDeviceSignIn(request: SignInRequest, signal: AbortSignal): Promise<DeviceSignIn> {
  const { name, login, settings, fetch, tokens } = request;
  const discovered = await discover(request);
  const { server, resource } = discovered;
  if (server.device_authorization_endpoint === undefined)
    throw new McpxError('auth', `the authorization server of "${name}" does not offer the device grant`, {
      hint: `${login} --no-browser`,
    });
  const scope = scopeOf(request, discovered);
  const earlier = tokens.find(request.url, settings.clientId);
  checkIssuer(settings, { server, earlier, name });
  const registered = registeredAt(discovered, earlier);
  const redirectUri = registered?.redirectUri ?? 'http://127.0.0.1/callback';
  const client = await identifyClient({ name, login, discovered, settings, redirectUri, registered, scope, fetch });
  if (client === registered) await tokens.doubt(request.url, client);
  const known = { client_id: client.id };
  const authentication = await clientAuthentication(client, settings.privateKey);
  const parameters = { resource, ...(scope !== undefined && { scope }) };
  const options = requestOptions(fetch);
  const describe = (error: unknown) => describeOAuthError(error, request, 'the sign-in', [client.secret ?? '']);
  try {
    const response = await oauth.deviceAuthorizationRequest(server, known, authentication, parameters, options);
    const device = await oauth.processDeviceAuthorizationResponse(server, known, response);
    const page = pageOf(device, request);
    const poll = async () => {
      const received = await pollDevice({
        name,
        login,
        server,
        known,
        authentication,
        device,
        resource,
        fetch,
        signal,
      });
      return store(request, discovered, client, storedTokens(received, scope));
    };
    const done = poll().catch((error) => Promise.reject(describe(error)));
    return { url: page.href, code: asName(device.user_code), done };
  } catch (error) {
    throw describe(error);
  }
}

function pageOf(
  { verification_uri_complete: complete, verification_uri: plain }: oauth.DeviceAuthorizationResponse,
  { name, guard }: Pick<SignInRequest, 'name' | 'guard'>,
): URL {
  const written = complete ?? plain;
  if (!URL.canParse(written))
    throw new McpxError('auth', `the authorization server of "${name}" names no valid page for the code`);
  const page = new URL(written);
  guard.checkUrl(page);
  return page;
}

interface Poll extends NamedServer {
  server: oauth.AuthorizationServer;
  known: oauth.Client;
  authentication: oauth.ClientAuth;
  device: oauth.DeviceAuthorizationResponse;
  resource: string;
  fetch: GuardedFetch;
  signal: AbortSignal;
}

async function pollDevice(poll: Poll): Promise<oauth.TokenEndpointResponse> {
  const { setTimeout: sleep } = await import('node:timers/promises');
  const { server, known, authentication, device, resource, fetch, signal } = poll;
  const options = { ...requestOptions(fetch), additionalParameters: { resource }, signal };
  const end = performance.now() + Math.min(device.expires_in, MAX_PATIENCE) * 1000;
  let seconds = bounded(device.interval ?? INTERVAL.default);
  while (performance.now() < end) {
    await sleep(seconds * 1000, undefined, { signal });
    const response = await oauth.deviceCodeGrantRequest(server, known, authentication, device.device_code, options);
    const body = await bodyOf(response);
    if (body?.error === 'slow_down') seconds = bounded(seconds + 5);
    else if (body?.error !== 'authorization_pending')
      return oauth.processDeviceCodeResponse(server, known, await tokenResponse(response));
  }
  throw signInNeeded(poll, 'was not signed in to in time');
}

/** A timer of Node with a longer delay than it can hold fires at once. */
function bounded(seconds: number): number {
  return Math.min(Math.max(seconds, INTERVAL.min), INTERVAL.max);
}
