import type { OutgoingHttpHeaders } from 'node:http';
import { describe, expect, test } from 'vitest';
import { McpxError } from '../../../src/errors.ts';
import { type Authorization, type AuthRefusal, staticAuthorization } from '../../../src/upstream/http/authorization.ts';
import { createRedactor } from '../../../src/upstream/secret-redactor.ts';
import type { Transport } from '../../../src/upstream/transports/transport.ts';
import { openTransport } from '../../../src/upstream/transports/transports.ts';
import type { Message } from '../../../src/wire/message.ts';
import { end, serveHttp } from '../http-world.ts';
import { serveSse } from '../sse-world.ts';
import { cleanup, recorder } from '../world.ts';
import { serveWs } from '../ws-world.ts';

const REQUEST: Message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x', arguments: { a: 1 } } };

/** Credentials that change with each refusal, until `last`. */
function rotating(last: number): Authorization & { refusals: AuthRefusal[] } {
  const refusals: AuthRefusal[] = [];
  return {
    refusals,
    headers: (): OutgoingHttpHeaders => ({ authorization: `Bearer ${refusals.length}` }),
    async refused(refusal) {
      refusals.push(refusal);
      return refusals.length <= last;
    },
    error: (status) => new McpxError('auth', `refused with ${status}`),
  };
}

async function open(type: 'http' | 'sse' | 'ws', url: string, authorization: Authorization): Promise<Transport> {
  const transport = await openTransport(
    { type, url, headers: {} },
    { name: 'x', maxBytes: 100_000, log: recorder().log, redactor: createRedactor([]), authorization },
  );
  cleanup(() => transport.close({ eof: 0, term: 0 }));
  return transport;
}

/** Sends one call; resolves with its response or with the error. */
function ask(transport: Transport): Promise<Message | Error | undefined> {
  return new Promise((resolve) => {
    const failed = (_id: unknown, error: Error) => resolve(error);
    transport.start({ message: resolve, invalid: () => undefined, failed, closed: resolve });
    transport.send(REQUEST);
  });
}

const SERVERS = {
  http: async (accepts: (header: string | undefined) => boolean) => {
    const server = await serveHttp(({ headers }, response) =>
      accepts(headers.authorization) ? false : end(response, 401, 'text/plain', ''),
    );
    return { url: server.url, sent: () => server.seen.map(({ headers }) => headers.authorization) };
  },
  sse: async (accepts: (header: string | undefined) => boolean) => {
    const server = await serveSse(({ headers }, response) =>
      accepts(headers.authorization) ? false : end(response, 401, 'text/plain', ''),
    );
    return { url: server.url, sent: () => server.seen.map(({ headers }) => headers.authorization) };
  },
  ws: async (accepts: (header: string | undefined) => boolean) => {
    const sent: (string | undefined)[] = [];
    const verifyClient = ({ req }: { req: { headers: { authorization?: string } } }) => {
      sent.push(req.headers.authorization);
      return accepts(req.headers.authorization);
    };
    const server = await serveWs(undefined, { verifyClient });
    return { url: server.url, sent: () => sent };
  },
};

describe.each(['http', 'sse', 'ws'] as const)('the credentials over %s', (type) => {
  test('are decided for each request, and a refused request is sent once more with new ones', async () => {
    const server = await SERVERS[type]((header) => header === 'Bearer 1');
    const authorization = rotating(1);
    expect(await ask(await open(type, server.url, authorization))).toMatchObject({ id: 1, result: {} });
    expect(server.sent().slice(0, 2)).toEqual(['Bearer 0', 'Bearer 1']);
    expect(authorization.refusals).toMatchObject([{ status: 401, sent: { authorization: 'Bearer 0' } }]);
  });

  test('are not tried a third time', async () => {
    const server = await SERVERS[type](() => false);
    expect(await ask(await open(type, server.url, rotating(9)))).toMatchObject({ message: 'refused with 401' });
    expect(server.sent()).toEqual(['Bearer 0', 'Bearer 1']);
  });

  test('of the config are sent as written, and a refusal says where to change them', async () => {
    const server = await SERVERS[type](() => false);
    const fixed = staticAuthorization({ Authorization: 'Bearer fixed' }, 'x');
    expect(await ask(await open(type, server.url, fixed))).toMatchObject({
      code: 'auth',
      message: 'server "x" wants other credentials (HTTP 401 Unauthorized)',
      hint: expect.stringContaining('set "headers" of server "x"'),
    });
    expect(server.sent()).toEqual(['Bearer fixed']);
  });
});

test('a refusal carries its status, its challenge and the credentials that were sent', async () => {
  const challenge = 'Bearer error="invalid_token"';
  const server = await serveHttp((_seen, response) => {
    response.setHeader('www-authenticate', challenge);
    return end(response, 403, 'text/plain', '');
  });
  const authorization = rotating(0);
  await ask(await open('http', server.url, authorization));
  expect(authorization.refusals).toEqual([{ status: 403, challenge, sent: { authorization: 'Bearer 0' } }]);
});
