/** `host[:port]`: one spelling for each host, nothing that two readers take for different hosts. */
import { describe, expect, test } from 'vitest';
import { isLoopback, isOriginOf, parseAuthority } from '../../../src/listen/http/authority.ts';

describe('a host is read whole', () => {
  test.each<[string, string, number | undefined]>([
    ['localhost', 'localhost', undefined],
    ['LocalHost:3095', 'localhost', 3095],
    ['gateway.example.', 'gateway.example.', undefined],
    ['my_box.lan:', 'my_box.lan', undefined],
    ['127.0.0.1:65535', '127.0.0.1', 65_535],
    ['[::1]', '::1', undefined],
    ['[0:0:0:0:0:0:0:1]:80', '::1', 80],
    ['[FE80::A]:1', 'fe80::a', 1],
    ['[::ffff:127.0.0.1]:1', '127.0.0.1', 1],
    ['[::ffff:c0a8:101]', '192.168.1.1', undefined],
  ])('%s', (text, name, port) => expect(parseAuthority(text)).toEqual({ name, port }));
});

describe('what is no host with at most one port is nothing', () => {
  test.each([
    '',
    '.',
    ':80',
    'a..b',
    'localhost..',
    'a b',
    'a, b',
    'a,b',
    'localhost:80:80',
    'localhost:65536',
    'localhost:000080',
    'localhost:+80',
    'localhost: 80',
    'localhost/',
    'localhost#',
    'localhost?x',
    'localhost\\@evil.example',
    'user@localhost',
    'user:word@localhost',
    'local%68ost',
    'локалхост',
    '-localhost',
    '::1',
    '[]',
    '[::1',
    '::1]',
    '[::1]evil.example',
    '[::1].evil.example',
    '[::1]:80.evil.example',
    '[::1]:x',
    '[fe80::1%eth0]',
    '[fe80::1%25eth0]',
    '[127.0.0.1]',
    '[localhost]',
    '[::1]]',
    'x[::1]',
    'a'.repeat(256),
  ])('%j', (text) => expect(parseAuthority(text)).toBeUndefined());
});

test('only loopback addresses and "localhost" are loopback', () => {
  const hosts = ['127.8.8.8', 'LOCALHOST', '::1', '0.0.0.0', '127.1', '127.0.0.1.evil.example', 'a.localhost'];
  expect(hosts.map(isLoopback)).toEqual([true, true, true, false, false, false, false]);
});

test.each([
  ['http://localhost:9', 'localhost:9', true],
  ['https://gateway.example', 'gateway.example', true],
  ['http://localhost', 'localhost:80', true],
  ['https://gateway.example', 'gateway.example:443', true],
  ['https://gateway.example', 'gateway.example:80', false],
  ['http://localhost:8', 'localhost:9', false],
  ['http://localhost:9/', 'localhost:9', false],
  ['http://x@localhost:9', 'localhost:9', false],
  ['http://localhost:9, http://localhost:9', 'localhost:9', false],
  ['ftp://localhost:9', 'localhost:9', false],
  ['null', 'localhost:9', false],
])('a page of the origin %s was loaded from %s: %s', (origin, host, own) => {
  expect(isOriginOf(origin, parseAuthority(host) ?? { name: '', port: undefined })).toBe(own);
});
