/** Bytes that never become a request are answered like one: JSON, an id, one line in the log. */
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { withoutTimes } from '../../setup/log-lines.ts';
import { closeAll, stage } from '../harness.ts';

afterEach(closeAll);

async function sendRaw(bytes: string[], { arrival = 30_000 } = {}) {
  const { url, logged, happenings } = await stage({}, { arrival });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  for (const one of bytes) socket.write(one);
  await new Promise((resolve) => socket.once('close', resolve));
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const visits = () => happenings.flatMap((one) => (one.type === 'exchange' ? [one.exchange] : []));
  await expect.poll(() => visits().length).toBe(1);
  const lines = logged.map(withoutTimes).filter((line) => line.startsWith('mcpx info'));
  return { head, body: JSON.parse(body), lines, exchange: visits()[0] };
}

const HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n';

test.each([
  ['garbage', 400, ['\u0016\u0003\u0001 hello\r\n\r\n']],
  ['a method that is none', 400, ['BREW /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n']],
  ['two lengths', 400, [`POST /mcp HTTP/1.1\r\n${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `]],
  [
    'a length and chunks',
    400,
    [`POST /mcp HTTP/1.1\r\n${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`],
  ],
  ['NUL in the path', 400, ['GET /\u0000 HTTP/1.1\r\nHost: localhost\r\n\r\n']],
  ['headers that are too long', 431, [`GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`]],
])('%s is %d', async (_, status, bytes) => {
  const { head, body, lines, exchange } = await sendRaw(bytes);
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(head).toMatch(/X-Content-Type-Options: nosniff/);
  expect(Object.keys(body)).toEqual(['error', 'code', 'hint', 'requestId']);
  expect(head).toContain(`X-Request-Id: ${body.requestId}`);
  expect(lines).toEqual([`mcpx info: malformed request ${status} request=${body.requestId} from=127.0.0.1\n`]);
  expect(exchange).toMatchObject({ status, request: body.requestId, from: '127.0.0.1' });
});

test.each([
  ['headers', ['GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: '], 'error'],
  ['a body', [`POST /mcp HTTP/1.1\r\n${HEAD}Content-Length: 20\r\n\r\n{`], 'jsonrpc'],
])('%s: what does not come in time is 408', async (_, bytes, key) => {
  const { head, body, exchange } = await sendRaw(bytes, { arrival: 200 });
  expect(head).toMatch(/^HTTP\/1.1 408 /);
  expect(body).toHaveProperty(key);
  expect(exchange?.status).toBe(408);
});
