/** The fetch for authorization servers: slow, endless and redirecting answers, and addresses that are not contacted. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createGuardedFetch } from '../../../src/upstream/oauth/guarded-fetch.ts';
import { createIssuerFetch } from '../../../src/upstream/oauth/issuer-fetch.ts';
import { createNetworkGuard } from '../../../src/upstream/oauth/network-guard.ts';

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const fetchOf = (url: string) =>
  createGuardedFetch({ guard: createNetworkGuard(url, 'docs'), name: 'docs', timeout: 100 })(url);

test.each<[string, RequestListener]>([
  ['does not answer', () => undefined],
  [
    'begins an answer and stops',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{');
    },
  ],
])('a server that %s is given up', async (_, listener) => {
  const url = await serve(listener);
  await expect(fetchOf(url)).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringMatching(
      /^the authorization server of "docs" cannot be reached at .*: no answer within 0.1 s$/,
    ),
    hint: 'check the network and try again',
  });
});

test('an answer without an end is cut off', async () => {
  const url = await serve((_, response) => {
    const more = () => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', more);
    };
    more();
  });
  const endless = createGuardedFetch({ guard: createNetworkGuard(url, 'docs'), name: 'docs' })(url);
  await expect(endless).rejects.toThrow('sent over 256 KiB');
});

test('a redirect is an answer, and its target is not asked', async () => {
  let asked = 0;
  const url = await serve((request, response) => {
    asked += 1;
    response.writeHead(307, { location: new URL('/other', `http://${request.headers.host}`).href }).end();
  });
  expect((await createIssuerFetch(url)(url)).status).toBe(307);
  expect(asked).toBe(1);
});

test.each([
  ['https://10.0.0.1/keys', 'an address of a private network'],
  ['https://169.254.169.254/latest', 'an address of a private network'],
  ['http://127.0.0.1:1/keys', 'an address of a loopback network'],
  ['http://login.example/keys', 'not https'],
])('an issuer on the internet cannot lead to %s', async (url, what) => {
  const leads = createIssuerFetch('https://login.example')(url);
  await expect(leads).rejects.toThrow(`the metadata of the issuer leads to`);
  await expect(leads).rejects.toThrow(what);
});
