/** The parameters of `WWW-Authenticate`. */
import { expect, test } from 'vitest';
import { parseChallenge } from '../../../src/upstream/oauth/challenge.ts';

test.each<[string | undefined, object]>([
  [undefined, {}],
  ['Basic realm="x"', {}],
  ['Bearer', {}],
  [
    'Bearer resource_metadata="https://a.example/x", scope="read write"',
    { resourceMetadata: 'https://a.example/x', scope: 'read write' },
  ],
  ['bearer error=insufficient_scope, scope="a"', { error: 'insufficient_scope', scope: 'a' }],
  ['Basic realm="x", Bearer error="invalid_token"', { error: 'invalid_token' }],
  ['Bearer error="invalid_token", Basic realm="scope=1"', { error: 'invalid_token' }],
  ['Bearer scope="a \\"b\\""', { scope: 'a "b"' }],
])('%s', (header, expected) => {
  expect(parseChallenge(header)).toEqual(expected);
});
