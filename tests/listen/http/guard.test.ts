/** Host and Origin as clients send them, byte for byte: one host that is served here, or no answer from a tool. */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { closeAll, stage, token } from '../harness.ts';

afterEach(closeAll);

/** The status line, and all of the answer. */
async function get(lines: string[], { path = '/api/status', version = '1.1', ...options }: Get = {}) {
  const { url } = await stage({}, { http: { hosts: ['gateway.example', '[fd00::1]:8443'] }, ...options });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end([`GET ${path} HTTP/${version}`, ...lines, 'Connection: close', '', ''].join('\r\n'));
  const answer = await text(socket);
  return { answer, status: Number(answer.split(' ')[1]) };
}

type Get = { path?: string; version?: string } & NonNullable<Parameters<typeof stage>[1]>;

describe('a Host that is served', () => {
  test.each([
    'LocalHost:1',
    '127.8.8.8',
    '[::1]:1',
    '[0:0::1]',
    '[::ffff:127.0.0.1]',
    'Gateway.Example:443',
    '[FD00:0::1]',
  ])('%s', async (host) => expect((await get([`Host: ${host}`])).status).toBe(200));
});

describe('a Host of somebody else is forbidden', () => {
  test.each([
    'evil.example',
    'localhost.',
    'gateway.example.',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    'gateway.example.evil',
    '[::2]',
  ])('%s', async (host) => expect((await get([`Host: ${host}`])).status).toBe(403));
});

describe('a request without exactly one valid Host is a bad request, with a reason', () => {
  test.each<[string, string[]]>([
    ['none', []],
    ['an empty one', ['Host:']],
    ['two', ['Host: localhost', 'Host: evil.example']],
    ['two, in other cases', ['host: localhost', 'HOST: localhost']],
    ['an empty one and another', ['Host:', 'Host: localhost']],
    ['a list', ['Host: localhost, evil.example']],
    ['a name behind an address', ['Host: [::1].evil.example']],
    ['a user', ['Host: localhost@evil.example']],
    ['a percent sign', ['Host: local%68ost']],
    ['the zone of an address', ['Host: [::1%25lo]']],
    ['a port that is none', ['Host: localhost:99999']],
    ['a path', ['Host: localhost/evil']],
  ])('%s', async (_, lines) => {
    for (const path of ['/api/status', '/healthz', '/nowhere']) {
      const { answer, status } = await get(lines, { path });
      expect([path, status]).toEqual([path, 400]);
      expect(answer).toContain('exactly one \\"Host\\" header');
    }
  });

  test('a target that is a whole URL does not stand in for it', async () => {
    expect((await get(['Host: a', 'Host: localhost'], { path: 'http://localhost/api/status' })).status).toBe(400);
    expect((await get([], { path: 'http://localhost/api/status' })).status).toBe(400);
  });

  test('a probe of HTTP/1.0 may leave it out, and reaches nothing else', async () => {
    expect((await get([], { path: '/healthz', version: '1.0' })).status).toBe(200);
    expect((await get([], { version: '1.0' })).status).toBe(400);
  });

  test('a proxy has to forward one that is valid', async () => {
    const http = { trustProxy: true, hosts: ['gateway.example'] };
    const { answer, status } = await get(['Host: localhost', 'X-Forwarded-Host: [::1].evil.example'], { http });
    expect(status).toBe(400);
    expect(answer).toContain('exactly one \\"X-Forwarded-Host\\" header');
  });
});

describe('an Origin', () => {
  const HOST = 'Host: localhost:9';
  test.each<[string, string[], number]>([
    ['that is its own page', ['Origin: http://localhost:9'], 200],
    ['with another port', ['Origin: http://localhost:8'], 403],
    ['with a name behind an address', ['Origin: http://[::1].evil.example'], 403],
    ['with a user', ['Origin: http://localhost:9@evil.example'], 403],
    ['twice', ['Origin: http://localhost:9', 'Origin: http://localhost:9'], 403],
    ['that is empty', ['Origin:'], 403],
  ])('%s: %s is %i', async (_, lines, status) => expect((await get([HOST, ...lines])).status).toBe(status));
});

test('of two tokens in one request none counts', async () => {
  const tokens = [token('a', 'one'), token('b', 'two')];
  const both = ['Authorization: Bearer one', 'Authorization: Bearer two'];
  expect((await get(['Host: localhost', both[0] ?? ''], { tokens })).status).toBe(200);
  expect((await get(['Host: localhost', ...both], { tokens })).status).toBe(401);
});
