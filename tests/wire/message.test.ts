/** Messages as they are read from a text: what is passed on keeps its numbers, what is calculated with has numbers. */
import { expect, test } from 'vitest';
import { parseLossless } from '../../src/lossless-json.ts';
import { isId, parseMessages } from '../../src/wire/message.ts';

const LONG = '9007199254740993';
/** As this Node can write it. */
const KEPT = JSON.stringify(parseLossless(LONG));
const NEAREST = '9007199254740992';

const written = (text: string) => JSON.stringify(parseMessages(text));

test.each<[string, string]>([
  ['the id of a request', '{"jsonrpc":"2.0","id":N,"method":"ping"}'],
  ['arguments', '{"method":"tools/call","params":{"name":"x","arguments":{"a":{"b":[N]}}}}'],
  ['a progress token', '{"method":"tools/call","params":{"_meta":{"progressToken":N}}}'],
  ['what is cancelled', '{"method":"notifications/cancelled","params":{"requestId":N}}'],
  ['a result', '{"id":1,"result":{"content":[{"n":N}],"structuredContent":{"n":N},"_meta":{"n":N}}}'],
  ['the data of an error', '{"id":1,"error":{"code":-32000,"message":"x","data":[N]}}'],
  ['each message of a batch', '[{"id":1,"method":"x","params":{"arguments":{"n":N}}},{"id":N,"result":{}}]'],
])('%s: a number is what it was', (_, text) => {
  expect(written(text.replaceAll('N', LONG))).toBe(text.replaceAll('N', KEPT));
});

test.each<[string, string]>([
  ['a schema', '{"id":1,"result":{"tools":[{"inputSchema":{"maximum":N}}]}}'],
  ['a time', '{"id":1,"result":{"ttlMs":N}}'],
  ['progress', '{"method":"notifications/progress","params":{"progress":N}}'],
  ['the code of an error', '{"id":1,"error":{"code":N,"message":"x"}}'],
  ['what is no message', '[N,{"x":N}]'],
])('%s: a number is one to calculate with', (_, text) => {
  expect(parseMessages(text.replaceAll('N', LONG))).toEqual(JSON.parse(text.replaceAll('N', NEAREST)));
});

test('a message with such a number keeps names that mean something to objects', () => {
  const text = `{"id":1,"__proto__":{"a":1},"result":{"__proto__":{"b":2},"structuredContent":{"__proto__":${LONG}}}}`;
  expect(written(text)).toBe(text.replace(LONG, KEPT));
});

test('an id is text or any number', () => {
  expect(['', 'x', 0, 1.5, parseLossless(LONG)].map(isId)).toEqual(Array(5).fill(true));
  expect([null, undefined, true, {}, [], { rawJSON: LONG }].map(isId)).toEqual(Array(6).fill(false));
});
