/** Bodies: what is read of them, and those that nobody wants, whose clients read why and cost a bounded amount. */
import { EventEmitter, once } from 'node:events';
import { connect as dial } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { discardBody } from '../../../src/listen/http/request-body.ts';
import { closeAll, rpc, send, stage, token } from '../harness.ts';

afterEach(async () => {
  vi.useRealTimers();
  await closeAll();
});

const admin = { reload: () => Promise.reject(), edit: () => Promise.reject() };
const MIB = 1024 * 1024;

/** The first line of the answer, to a client that looks at it when it has sent everything; undefined where it never gets to that. */
function post(url: string, path: string, announced: boolean, more = ''): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = dial(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => resolve(undefined));
    socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`);
    socket.write(`Authorization: Bearer b\r\n${more}`);
    const size = announced ? `Content-Length: ${16 * MIB}\r\n\r\n` : 'Transfer-Encoding: chunked\r\n\r\n1000000\r\n';
    socket.write(size);
    socket.write(Buffer.alloc(16 * MIB, 'x'));
    socket.write(announced ? '' : '\r\n0\r\n\r\n', (failure) => {
      if (failure) resolve(undefined);
      else socket.once('data', (chunk) => resolve(String(chunk).split('\r\n')[0]));
    });
  });
}

test('a mark before UTF-8 is no part of the messages', async () => {
  const { url } = await stage();
  const answer = await send(url, { body: `\ufeff${JSON.stringify(rpc('ping'))}` });
  expect([answer.status, await answer.json()]).toMatchObject([200, { id: 1, result: {} }]);
});

describe('a body that comes in pieces is read whole', () => {
  const json = JSON.stringify(rpc('ping'));
  const [front, back] = [json.slice(0, 20), json.slice(20)];
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

  test.each<[how: string, header: string, pieces: string[]]>([
    ['after its headers', `Content-Length: ${json.length}`, ['', json]],
    ['the first with its headers', `Content-Length: ${json.length}`, [front, back]],
    ['of unknown size', 'Transfer-Encoding: chunked', [chunk(front), chunk(back), chunk('')]],
    ['of unknown size, with its headers', 'Transfer-Encoding: chunked', [chunk(front) + chunk(back) + chunk('')]],
  ])('%s', async (_, header, pieces) => {
    const { url } = await stage();
    const socket = dial({ port: Number(new URL(url).port), host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${header}\r\n\r\n`;
    for (const [index, piece] of pieces.entries()) {
      socket.write(index === 0 ? head + piece : piece);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const [answer] = await once(socket, 'data');
    socket.destroy();
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*"result":\{\}/);
  });
});

describe('too large a body', () => {
  test.each<[string, string, boolean]>([
    ['for MCP', '/mcp', true],
    ['for MCP, of unknown size', '/mcp', false],
    ['for a change of servers', '/api/servers', true],
  ])('%s is 413, which its client reads', async (_, path, announced) => {
    const { url } = await stage({}, { http: { maxBody: 1000 }, tokens: [token('boss', 'b', { admin: true })], admin });
    expect(await post(url, path, announced)).toBe('HTTP/1.1 413 Payload Too Large');
  });
});

describe('a client that waits until its body is wanted', () => {
  const head = (path: string, more: string) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n${more}\r\n\r\n`;
  const JSON_OF = 'Content-Type: application/json\r\nAuthorization: Bearer b\r\nContent-Length:';

  test.each<[status: string, path: string, headers: string]>([
    ['100 Continue', '/mcp', `${JSON_OF} 1000`],
    ['100 Continue', '/api/servers', `${JSON_OF} 1000`],
    ['413 Payload Too Large', '/mcp', `${JSON_OF} 1001`],
    ['413 Payload Too Large', '/api/servers', `${JSON_OF} 1001`],
    ['415 Unsupported Media Type', '/mcp', 'Content-Length: 10\r\nAuthorization: Bearer b'],
    ['401 Unauthorized', '/mcp', 'Content-Type: application/json\r\nContent-Length: 10'],
    ['404 Not Found', '/mcp/nope', `${JSON_OF} 10`],
  ])('is told %s first, at %s', async (status, path, headers) => {
    const { url } = await stage({}, { http: { maxBody: 1000 }, tokens: [token('boss', 'b', { admin: true })], admin });
    const socket = dial(Number(new URL(url).port), '127.0.0.1');
    socket.write(head(path, headers));
    const [chunk] = await once(socket, 'data');
    expect(String(chunk).split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
    socket.destroy();
  });

  test('is told first that there is no room for it', async () => {
    const tokens = [token('a', 'ka'), token('b', 'kb')];
    const { url } = await stage({}, { http: { maxBody: 100 * MIB }, tokens });
    const begin = (secret: string, size: number) => {
      const socket = dial(Number(new URL(url).port), '127.0.0.1');
      socket.write(
        head('/mcp', `Authorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${size}`),
      );
      return once(socket, 'data').then(([chunk]) => ({ socket, status: String(chunk).split(' ')[1] }));
    };
    const held = await Promise.all(['ka', 'ka', 'ka'].map((secret) => begin(secret, 100 * MIB)));
    held.push(await begin('kb', 100 * MIB));
    const refused = await begin('kb', 20_000);
    expect([...held, refused].map(({ status }) => status)).toEqual(['100', '100', '100', '100', '503']);
    for (const { socket } of [...held, refused]) socket.destroy();
  });
});

test.each(['Expect: 100-continue', 'Connection: close'])(
  'a client that is refused and sends its body all the same reads why, with %s',
  async (header) => {
    const { url } = await stage({}, { tokens: [token('boss', 'other')] });
    expect(await post(url, '/mcp', true, `${header}\r\n`)).toBe('HTTP/1.1 401 Unauthorized');
  },
);

describe('what is thrown away', () => {
  const discard = () => {
    const request = new EventEmitter();
    const over = vi.fn();
    discardBody(request as never, over);
    return { over, send: (size: number) => void request.emit('data', Buffer.alloc(size)), request };
  };

  test('is over with the body, once', () => {
    const { over, request } = discard();
    expect(over).not.toHaveBeenCalled();
    request.emit('end');
    request.emit('close');
    expect(over).toHaveBeenCalledTimes(1);
  });

  test('is over where nothing comes any longer', () => {
    vi.useFakeTimers();
    const { over, send } = discard();
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(1500);
      send(10);
    }
    expect(over).not.toHaveBeenCalled();
    vi.advanceTimersByTime(2000);
    expect(over).toHaveBeenCalledTimes(1);
  });

  test('is over at a bound of bytes', () => {
    const { over, send, request } = discard();
    for (let i = 0; i < 64; i++) send(MIB);
    expect(over).not.toHaveBeenCalled();
    send(1);
    request.emit('end');
    expect(over).toHaveBeenCalledTimes(1);
  });
});
