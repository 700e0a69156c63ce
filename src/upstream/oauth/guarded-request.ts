/** One request of the guarded `fetch`, on the HTTP modules of Node. */
import { lookup as resolveHost } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { McpxError } from '../../errors.ts';
import { consume } from '../http/http-client.ts';
import { routeTo } from '../http/proxy.ts';
import type { FetchInit, FetchOptions } from './guarded-fetch.ts';
import type { NetworkGuard } from './network-guard.ts';

/** Bytes of a response: metadata and tokens are a few KiB. */
const MAX_BYTES = 256 * 1024;

/** Sends the request over the proxy of the environment, or directly. */
export function send(
  url: URL,
  init: FetchInit,
  { guard, name, signal }: Pick<FetchOptions, 'guard' | 'name' | 'signal'>,
): Promise<IncomingMessage> {
  const route = routeTo(url, name);
  const { method = 'GET', headers = {}, body } = init;
  const text = body === undefined || body === null ? undefined : String(body);
  return new Promise((resolve, reject) => {
    const request = route.request(url, {
      method,
      headers: { ...headers, 'accept-encoding': 'identity', connection: 'close' },
      agent: route.agent(),
      lookup: guardedLookup(guard),
      ...(signal && { signal }),
    });
    request.once('response', resolve);
    request.once('error', reject);
    request.end(text);
  });
}

/** Checks each resolved address before the socket connects, so that DNS cannot change between check and use. */
function guardedLookup(guard: NetworkGuard): LookupFunction {
  return (hostname, options, done) =>
    resolveHost(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '', 0);
      try {
        for (const { address } of found) guard.checkAddress(address, hostname);
      } catch (refused) {
        return done(refused as Error, '', 0);
      }
      const [first] = found;
      return options.all ? done(null, found) : done(null, first?.address ?? '', first?.family);
    });
}

/** Reads a response up to the limit. */
export async function readLimited(response: IncomingMessage, url: URL, subject: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  await consume(response, (chunk) => {
    size += chunk.length;
    if (size > MAX_BYTES) {
      const message = `${subject} sent over ${MAX_BYTES / 1024} KiB from "${url.origin}${url.pathname}"`;
      throw new McpxError('auth', message, { hint: 'tell its operator' });
    }
    chunks.push(chunk);
  });
  return Buffer.concat(chunks).toString('utf8');
}
