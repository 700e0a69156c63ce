/** The addresses that a sign-in may contact, by the address of the MCP server. */
import { describe, expect, test } from 'vitest';
import { createNetworkGuard } from '../../../src/upstream/oauth/network-guard.ts';

const PUBLIC = 'https://mcp.example.com/mcp';
const INTRANET = 'https://10.1.2.3/mcp';
const LOCAL = 'http://127.0.0.1:8000/mcp';

const allows = (server: string, url: string) => {
  try {
    createNetworkGuard(server, 'docs').checkUrl(new URL(url));
    return true;
  } catch {
    return false;
  }
};

describe('URLs', () => {
  test.each<[string, string, boolean]>([
    [PUBLIC, 'https://auth.example.com/token', true],
    [PUBLIC, 'http://auth.example.com/token', false],
    [PUBLIC, 'https://user:secret@auth.example.com/', false],
    [PUBLIC, 'ftp://auth.example.com/', false],
    [PUBLIC, 'https://10.0.0.1/', false],
    [PUBLIC, 'https://172.20.0.1/', false],
    [PUBLIC, 'https://192.168.1.1/', false],
    [PUBLIC, 'https://169.254.169.254/latest/meta-data', false],
    [PUBLIC, 'https://0.0.0.0/', false],
    [PUBLIC, 'https://2130706433/', false],
    [PUBLIC, 'https://0x7f.1/', false],
    [PUBLIC, 'https://[::1]/', false],
    [PUBLIC, 'https://[::ffff:10.0.0.1]/', false],
    [PUBLIC, 'https://[fe80::1]/', false],
    [PUBLIC, 'https://[fec0::1]/', false],
    [PUBLIC, 'https://[::127.0.0.1]/', false],
    [PUBLIC, 'https://[::10.0.0.1]/', false],
    [PUBLIC, 'https://[64:ff9b::10.0.0.1]/', false],
    [PUBLIC, 'https://[64:ff9b::8.8.8.8]/', true],
    [PUBLIC, 'https://[64:ff9b:1::8.8.8.8]/', false],
    [PUBLIC, 'https://[2002:a00:1::1]/', false],
    [PUBLIC, 'https://[fd00::1]/', false],
    [PUBLIC, 'https://[::ffff:0:10.0.0.1]/', false],
    [PUBLIC, 'https://[100::1]/', false],
    [PUBLIC, 'https://[2606:4700::1111]/', true],
    [PUBLIC, 'https://localhost/', false],
    [PUBLIC, 'http://127.0.0.1:9/', false],
    [INTRANET, 'https://10.9.9.9/token', true],
    [INTRANET, 'http://10.9.9.9/token', false],
    [INTRANET, 'http://127.0.0.1:9/', false],
    [LOCAL, 'http://127.0.0.1:9000/token', true],
    [LOCAL, 'http://localhost:9000/token', true],
    [LOCAL, 'https://10.0.0.1/', false],
    [LOCAL, 'https://auth.example.com/', true],
  ])('a sign-in to %s and the URL %s: %s', (server, url, expected) => {
    expect(allows(server, url)).toBe(expected);
  });
});

test('a name that is resolved to a private address is refused, except the host of the server itself', () => {
  const guard = createNetworkGuard(PUBLIC, 'docs');
  expect(() => guard.checkAddress('10.0.0.1', 'auth.example.com')).toThrow('private network');
  expect(() => guard.checkAddress('127.0.0.1', 'auth.example.com')).toThrow('loopback network');
  expect(() => guard.checkAddress('203.0.113.9', 'auth.example.com')).not.toThrow();
  expect(() => guard.checkAddress('10.0.0.1', 'mcp.example.com')).not.toThrow();
});
