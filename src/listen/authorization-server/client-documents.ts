/** Client ID metadata documents: the client id is the https URL of a document about the client. */
import { BoundedMap } from '../../bounded-map.ts';
import { messageOf } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import { createAttemptLimits } from '../../policy/attempt-limits.ts';
import { isRecord } from '../../wire/message.ts';
import { clientName } from './dynamic-registration.ts';
import { OAuthProblem, tooMany } from './oauth-problem.ts';
import { isLoopbackHost, redirectUrisProblem } from './redirect-uris.ts';

/**
 * Fetches a document with checked addresses, without redirects, in limited time and size. `allowLoopback` admits
 * documents on this machine. Rejects if the document cannot be fetched.
 */
export type FetchDocument = (url: string, allowLoopback: boolean) => Promise<{ status: number; text: string }>;

/** https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/ */
export interface DocumentedClient {
  name: string;
  redirectUris: string[];
}

export interface DocumentRequest {
  /** The address of the browser, for the rate limit. */
  address: string;
  /** True if the gateway itself is on loopback. */
  isLocal: boolean;
}

export interface ClientDocuments {
  /** Returns the client of a URL; throws an `OAuthProblem` if there is none. */
  find(url: string, request: DocumentRequest): Promise<DocumentedClient>;
}

export interface DocumentOptions {
  /** Absent if no documents may be fetched. */
  fetchDocument?: FetchDocument | undefined;
  log: Pick<Log, 'debug'>;
  /** Returns a monotonic time in ms. */
  now?: () => number;
}

const MAX_URL = 500;
const MAX_CHARS = 64 * 1024;
const MAX_CACHED = 200;
/** Milliseconds for which a document is used, and for which a failure is not tried again. */
const FRESH = 10 * 60_000;
const FAILED = 30_000;
const PER_MINUTE = { perAddress: 20, total: 60 };

type Cached = { until: number } & ({ client: DocumentedClient } | { problem: OAuthProblem });

/** True if a client id is meant as the URL of a document. */
export function isDocumentUrl(clientId: string): boolean {
  return /^https?:\/\//i.test(clientId);
}

export function createClientDocuments(options: DocumentOptions): ClientDocuments {
  const { now = () => performance.now() } = options;
  const cached = new BoundedMap<string, Cached>(MAX_CACHED);
  const limit = createAttemptLimits({ ...PER_MINUTE, now });
  return {
    async find(url, { address, isLocal }) {
      checkUrl(url, isLocal);
      let entry = cached.get(url);
      if (entry === undefined || entry.until <= now()) {
        const wait = limit(address);
        if (wait !== undefined) throw tooMany('unknown clients', wait);
        const found = await load(url, isLocal, options);
        entry = { ...found, until: now() + ('client' in found ? FRESH : FAILED) };
        cached.set(url, entry);
      }
      if ('client' in entry) return entry.client;
      throw entry.problem;
    },
  };
}

/** The URL has one spelling, and its host is one that the gateway may contact. */
function checkUrl(url: string, isLocal: boolean): void {
  const parsed = URL.canParse(url) && url.length <= MAX_URL ? new URL(url) : undefined;
  const isPlain = parsed?.href === url && parsed.hash === '' && parsed.username === '' && parsed.password === '';
  const mayBeHttp = isLocal && parsed !== undefined && isLoopbackHost(parsed.hostname);
  const isAllowed = isPlain && parsed.pathname !== '/' && (parsed.protocol === 'https:' || mayBeHttp);
  if (!isAllowed) throw unusable('a client id with a URL must be an https URL with a path');
}

async function load(url: string, isLocal: boolean, { fetchDocument, log }: DocumentOptions) {
  try {
    if (fetchDocument === undefined) throw unusable('this gateway fetches no client documents');
    return { client: read(url, await fetchDocument(url, isLocal && isLoopbackHost(new URL(url).hostname))) };
  } catch (error) {
    if (error instanceof OAuthProblem) return { problem: error };
    // The reason tells which hosts this machine can reach, so it is only logged.
    log.debug(`the client document "${url}" cannot be fetched: ${messageOf(error)}`);
    return { problem: unusable('its document cannot be fetched') };
  }
}

function read(url: string, { status, text }: { status: number; text: string }): DocumentedClient {
  if (status !== 200) throw unusable(`its document has the status ${status}`);
  if (text.length > MAX_CHARS) throw unusable(`its document has more than ${MAX_CHARS / 1024} KiB`);
  const metadata = parse(text);
  if (!isRecord(metadata)) throw unusable('its document is not a JSON object');
  if (metadata.client_id !== url) throw unusable('its document is about another client id');
  const { redirect_uris: uris, client_name: name } = metadata;
  const problem = redirectUrisProblem(uris);
  if (problem !== undefined) throw unusable(`in its document, ${problem}`);
  return { name: clientName(name), redirectUris: uris as string[] };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const unusable = (why: string) => new OAuthProblem('invalid_client', `the client cannot be used: ${why}`);
