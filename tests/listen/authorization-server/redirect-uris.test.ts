/** Redirect URIs: the registered ones, the ports of programs on loopback, and URIs that would run or leak something. */
import { describe, expect, test } from 'vitest';
import {
  isRegisteredUri,
  redirectHost,
  redirectUrisProblem,
  withParameters,
} from '../../../src/listen/authorization-server/redirect-uris.ts';

describe('a client may register', () => {
  test.each([
    'https://claude.ai/api/mcp/auth_callback',
    'http://127.0.0.1:3118/callback',
    'http://localhost/callback',
    'http://[::1]:9/cb',
    'cursor://anysphere.cursor-retrieval/oauth/callback',
    'com.example.app:/callback',
    'https://app.example/cb?tenant=1',
  ])('%s', (uri) => expect(redirectUrisProblem([uri])).toBeUndefined());
});

describe('a client may not register', () => {
  test.each<[unknown, string]>([
    [undefined, 'must be a list'],
    [[], 'must be a list'],
    ['https://app.example/cb', 'must be a list'],
    [Array.from({ length: 21 }, (_, i) => `https://app.example/${i}`), 'more than 20'],
    [Array.from({ length: 3 }, (_, i) => `https://app.example/${i}${'x'.repeat(1900)}`), 'more than 4000 characters'],
    [[7], 'must be a URI'],
    [['/callback'], 'must be a URI'],
    [['https://app.example/\r\nSet-Cookie: a=b'], 'must be a URI'],
    [[`https://app.example/${'x'.repeat(2000)}`], 'must be a URI'],
    [['http://app.example/cb'], 'must be on loopback'],
    [['http://127.0.0.1.evil.example/cb'], 'must be on loopback'],
    [['http://10.0.0.1/cb'], 'must be on loopback'],
    [['https://app.example/cb#here'], 'fragment'],
    [['https://app.example/cb#'], 'fragment'],
    [['https://user@app.example/cb'], 'a user or a password'],
    [['javascript:alert(1)'], 'scheme "javascript:"'],
    [['JavaScript:alert(1)'], 'scheme "javascript:"'],
    [['data:text/html,x'], 'scheme "data:"'],
    [['file:///etc/passwd'], 'scheme "file:"'],
    [['https://app.example/cb', 'vbscript:x'], 'scheme "vbscript:"'],
    [['ms-msdt:/id PCWDiagnostic'], 'must be a URI'],
    [['ms-msdt:/id'], 'scheme "ms-msdt:"'],
    [['search-ms:query=x'], 'scheme "search-ms:"'],
    [['mailto:ada@example.com'], 'scheme "mailto:"'],
    [['intent://x/y'], 'scheme "intent:"'],
    [['https://evil.example\\@app.example/cb'], 'must be a URI'],
    [['https://app.example/cb"onload="x'], 'must be a URI'],
  ])('%j', (uris, problem) => expect(redirectUrisProblem(uris)).toContain(problem));
});

describe('a request uses a registered URI', () => {
  const REGISTERED = ['https://app.example/cb', 'http://127.0.0.1/callback', 'http://localhost:5000/cb?a=1', 'app:/cb'];
  test.each<[string, boolean]>([
    ['https://app.example/cb', true],
    ['http://127.0.0.1/callback', true],
    ['http://127.0.0.1:49152/callback', true],
    ['http://localhost:6000/cb?a=1', true],
    ['app:/cb', true],
    ['https://app.example/cb/', false],
    ['https://app.example/cb?x=1', false],
    ['https://app.example:8443/cb', false],
    ['https://APP.example/cb', false],
    ['https://app.example.evil.example/cb', false],
    ['https://evil.example/cb', false],
    ['http://app.example/cb', false],
    ['http://localhost:49152/callback', false],
    ['http://127.0.0.1:49152/callback/more', false],
    ['http://127.0.0.1:49152/callback?next=evil', false],
    ['http://127.0.0.1:49152@evil.example/callback', false],
    ['http://127.0.0.1:1\\@evil.example/callback', false],
    ['http://127.0.0.2:49152/callback', false],
    ['app:/cb2', false],
    ['', false],
  ])('%s: %s', (uri, expected) => expect(isRegisteredUri(REGISTERED, uri)).toBe(expected));
});

test('parameters are appended, and the rest of the URI stays as written', () => {
  const given = { code: 'a b&c', state: undefined, iss: 'http://127.0.0.1:1' };
  expect(withParameters('https://app.example/cb', given)).toBe(
    'https://app.example/cb?code=a+b%26c&iss=http%3A%2F%2F127.0.0.1%3A1',
  );
  expect(withParameters('app:/cb?x=%20', { code: '1' })).toBe('app:/cb?x=%20&code=1');
});

test('the page shows the host, and for a program its scheme', () => {
  expect(redirectHost('https://claude.ai/api/mcp/auth_callback')).toBe('claude.ai');
  expect(redirectHost('http://127.0.0.1:3118/callback')).toBe('127.0.0.1:3118');
  expect(redirectHost('cursor://anysphere/callback')).toBe('cursor:');
});
