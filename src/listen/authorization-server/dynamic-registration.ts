/** Dynamic registration of clients, bounded in number and rate. https://www.rfc-editor.org/rfc/rfc7591 */
import { randomUUID } from 'node:crypto';
import { createAttemptLimits } from '../../policy/attempt-limits.ts';
import { asName } from '../../render/text.ts';
import { isRecord } from '../../wire/message.ts';
import type { GrantFile, Grants, RegisteredClient } from './grant-file.ts';
import { OAuthProblem, tooMany } from './oauth-problem.ts';
import { redirectUrisProblem } from './redirect-uris.ts';

export interface Registrations {
  /** Registers a client from the body of its request and returns the body of the response. */
  register(metadata: unknown, address: string): Promise<Record<string, unknown>>;
  find(id: string): RegisteredClient | undefined;
}

export interface RegistrationOptions {
  file: GrantFile;
  /** Returns ms since 1970. */
  now(): number;
}

const MAX_CLIENTS = 500;
const PER_MINUTE = { perAddress: 20, total: 60 };
const HOUR = 60 * 60_000;
/** Milliseconds for which a registration is kept: without any sign-in, and after the last one. */
const UNUSED = 24 * HOUR;
const USED = 90 * 24 * HOUR;
/** Milliseconds in which a new registration is not dropped for another one: its user is about to sign in. */
const PROTECTED = 10 * 60_000;

export function createRegistrations({ file, now }: RegistrationOptions): Registrations {
  const limit = createAttemptLimits(PER_MINUTE);
  return {
    find: (id) => file.read().clients.find((client) => client.id === id),
    async register(metadata, address) {
      const wait = limit(address);
      if (wait !== undefined) throw tooMany('registrations', wait);
      const client = { ...clientOf(metadata), id: `mcpx-${randomUUID()}`, registered: now() };
      await file.change((all) => ({ ...all, clients: withClient(all, client, now()) }));
      return describe(client);
    },
  };
}

function clientOf(metadata: unknown): Pick<RegisteredClient, 'name' | 'redirectUris'> {
  if (!isRecord(metadata)) throw new OAuthProblem('invalid_client_metadata', 'the body must be a JSON object');
  const { redirect_uris: uris, client_name: name, grant_types: grants, response_types: responses } = metadata;
  const problem = redirectUrisProblem(uris);
  if (problem !== undefined) throw new OAuthProblem('invalid_redirect_uri', problem);
  if (!includes(grants, 'authorization_code') || !includes(responses, 'code'))
    throw new OAuthProblem('invalid_client_metadata', 'only the grant type authorization_code is supported');
  return { name: clientName(name), redirectUris: uris as string[] };
}

/** True if a list in the metadata is absent or has the value. */
function includes(list: unknown, value: string): boolean {
  return list === undefined || list === null || (Array.isArray(list) && list.includes(value));
}

/** Returns the name of a client for people; the client chose it. */
export function clientName(name: unknown): string {
  return typeof name === 'string' ? asName(name).slice(0, 80) : '';
}

/** All clients are public, whatever they asked for. https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1 */
function describe({ id, name, redirectUris, registered }: RegisteredClient): Record<string, unknown> {
  return {
    client_id: id,
    client_id_issued_at: Math.floor(registered / 1000),
    ...(name !== '' && { client_name: name }),
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

/** Adds a client, without expired ones; beyond the limit, the oldest one that nobody has signed in with is dropped. */
function withClient({ clients, grants }: Grants, client: RegisteredClient, now: number): RegisteredClient[] {
  const granted = new Set(grants.map((grant) => grant.client.id));
  const isKept = ({ id, registered, used }: RegisteredClient) =>
    granted.has(id) || now - (used ?? registered) < (used === undefined ? UNUSED : USED);
  const kept = clients.filter(isKept);
  if (kept.length < MAX_CLIENTS) return [...kept, client];
  const [oldest] = kept
    .filter(({ id, used, registered }) => !granted.has(id) && used === undefined && now - registered > PROTECTED)
    .sort((a, b) => a.registered - b.registered);
  if (oldest === undefined) throw tooMany('registered clients', PROTECTED / 1000);
  return [...kept.filter((one) => one !== oldest), client];
}
