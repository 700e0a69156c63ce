/** How many connections there may be, and which are closed first. */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { connectionBound } from '../../../src/listen/http/connection-limit.ts';
import { closeAll, type Stage, stage, token } from '../harness.ts';

afterEach(closeAll);

const TOKENS = [token('ci', 'ci-secret'), token('other', 'other-secret')];

interface Line {
  socket: Socket;
  /** Asks for something that is answered at once; resolves with the answer as far as it has come, or '' where the connection is closed. */
  ask(secret?: string): Promise<string>;
  /** Asks for a stream that stays open; resolves when it is. */
  stream(secret?: string): Promise<string>;
  /** Resolves with all that was read. */
  closed: Promise<string>;
  isOpen(): boolean;
}

async function dial({ url }: Pick<Stage, 'url'>): Promise<Line> {
  const { port, host } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  let fresh = '';
  let wake = () => {};
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    text += chunk;
    fresh += chunk;
    wake();
  });
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(text)));
  void closed.then(() => wake());
  const send = (path: string, secret?: string) => {
    fresh = '';
    const auth = secret === undefined ? '' : `Authorization: Bearer ${secret}\r\n`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${auth}\r\n`);
    return new Promise<string>((resolve) => {
      wake = () => (fresh.includes('\r\n\r\n') || socket.destroyed) && resolve(fresh);
    });
  };
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return {
    ...{ socket, closed, isOpen: () => !socket.destroyed },
    ask: (secret) => send('/api/status', secret),
    stream: (secret) => send('/api/events', secret),
  };
}

const dialAll = (place: Stage, count: number) => Promise.all(Array.from({ length: count }, () => dial(place)));

test('half of the handles beyond a reserve are for connections', () => {
  const bounds = [64, 256, 1024, 20_000, 1_048_576, 32, undefined].map(connectionBound);
  expect(bounds).toEqual([12, 108, 492, 9980, 10_000, 8, 10_000]);
});

test('a client with a token stays, and another one gets in, while connections without one fill the gateway', async () => {
  const place = await stage({}, { tokens: TOKENS, connections: 8 });
  const first = await dial(place);
  expect(await first.ask('ci-secret')).toContain('200 OK');
  const strangers = await dialAll(place, 30);
  // Of the 30, so many are left as fit beside the first.
  await Promise.all(strangers.slice(0, 23).map(({ closed }) => closed));
  const second = await dial(place);
  expect(await second.ask('other-secret')).toContain('200 OK');
  expect(await first.ask('ci-secret')).toContain('200 OK');
  expect(place.logged.filter((line) => line.includes('connections were closed'))).toHaveLength(1);
});

test('a wrong token makes a connection no better than none', async () => {
  const place = await stage({}, { tokens: TOKENS, connections: 8 });
  const wrong = await dial(place);
  expect(await wrong.ask('guess')).toContain('401 Unauthorized');
  await dialAll(place, 8);
  expect(await wrong.closed).toContain('401 Unauthorized');
});

test('the connection that has been idle for longest makes room, not one with a request under way', async () => {
  const place = await stage({}, { connections: 8 });
  const busy = await dial(place);
  expect(await busy.stream()).toContain('200 OK');
  const idle: Line[] = [];
  for (let n = 0; n < 7; n++) {
    const line = await dial(place);
    expect(await line.ask()).toContain('200 OK');
    idle.push(line);
  }
  // The first of them is now the one that was used last.
  expect(await idle[0]?.ask()).toContain('200 OK');
  const fresh = await dial(place);
  expect(await fresh.ask()).toContain('200 OK');
  await idle[1]?.closed;
  expect([busy, ...idle].map((line) => line.isOpen())).toEqual([...[true, true, false], ...Array(5).fill(true)]);
});

test('where every connection is in use a new one is told to come back', async () => {
  const place = await stage({}, { connections: 8 });
  for (const line of await dialAll(place, 8)) expect(await line.stream()).toContain('200 OK');
  const refused = await dial(place);
  const text = await refused.closed;
  expect(text).toContain('503 Service Unavailable');
  expect(text).toContain('Retry-After: 1');
  expect(text).toContain('"error":"too many connections"');
});

test('one token cannot have all connections', async () => {
  const place = await stage({}, { tokens: TOKENS, connections: 8 });
  for (const line of await dialAll(place, 6)) expect(await line.stream('ci-secret')).toContain('200 OK');
  const more = await dial(place);
  expect(await more.ask('ci-secret')).toContain('503 Service Unavailable');
  const other = await dial(place);
  expect(await other.ask('other-secret')).toContain('200 OK');
});

test('a token that has its share gets a new connection for one that is idle', async () => {
  const place = await stage({}, { tokens: TOKENS, connections: 8 });
  const own = await dialAll(place, 6);
  for (const line of own) expect(await line.ask('ci-secret')).toContain('200 OK');
  const more = await dial(place);
  expect(await more.ask('ci-secret')).toContain('200 OK');
  expect(await own[0]?.closed).toContain('200 OK');
});
