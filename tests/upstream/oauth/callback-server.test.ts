/** The page of the callback on a real socket: only the browser of the sign-in is answered. */
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openCallbackServer } from '../../../src/upstream/oauth/callback-server.ts';

async function open() {
  const callback = await openCallbackServer({ state: 'the-state' });
  onTestFinished(() => callback.close());
  const { port } = new URL(callback.redirectUri);
  /** Sends a request with these headers and returns its status. */
  const ask = async (headers: string[], path = '/callback?state=the-state&code=c') => {
    const socket = connect(Number(port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    socket.write(`GET ${path} HTTP/1.1\r\n${[...headers, 'Connection: close'].join('\r\n')}\r\n\r\n`);
    await new Promise((resolve) => socket.on('error', resolve).on('close', resolve));
    return Number(answer.slice(9, 12));
  };
  return { callback, port, ask };
}

test.each([
  ['a foreign name', (port: string) => [`Host: evil.example:${port}`]],
  ['two names', (port: string) => [`Host: 127.0.0.1:${port}`, 'Host: evil.example']],
  ['the same name twice', (port: string) => [`Host: 127.0.0.1:${port}`, `Host: 127.0.0.1:${port}`]],
  ['another port', () => ['Host: 127.0.0.1:1']],
  ['a name that begins like an address', (port: string) => [`Host: 127.0.0.1.evil.example:${port}`]],
])('a request with %s as Host is refused, and the sign-in goes on', async (_, headers) => {
  const { callback, port, ask } = await open();
  expect(await ask(headers(port))).toBe(404);
  expect(await ask([`Host: 127.0.0.1:${port}`])).toBe(200);
  expect((await callback.parameters).get('code')).toBe('c');
});

test('many open connections do not keep the browser out for ever, and more than a few are refused', async () => {
  const { port, ask } = await open();
  const idle = Array.from({ length: 40 }, () => connect(Number(port), '127.0.0.1'));
  const closed = idle.map((socket) => new Promise((resolve) => socket.on('error', resolve).on('close', resolve)));
  // Those beyond the limit are closed at once.
  await Promise.all(closed.slice(16));
  expect(idle.filter((socket) => !socket.destroyed)).toHaveLength(16);
  for (const socket of idle) socket.destroy();
  await Promise.all(closed);
  // The server learns a moment later that they are gone.
  await expect.poll(() => ask([`Host: 127.0.0.1:${port}`])).toBe(200);
});
