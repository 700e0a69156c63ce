/** Unread output is bounded for each client. */
import { expect, test } from 'vitest';
import { createSlowReaders } from '../../../src/listen/http/slow-readers.ts';

function stage() {
  let time = 0;
  const logged: string[] = [];
  const log = { warn: (message: string, fields = {}) => void logged.push(`${message} ${JSON.stringify(fields)}`) };
  const sweep = createSlowReaders({ log, calm: 100, most: 300, now: () => time });
  const underWay = new Set<any>();
  const cut: string[] = [];
  const answer = (
    name: string,
    writableLength: number,
    { from = '::1', principal }: { from?: string; principal?: string } = {},
  ) => {
    const response: any = { writableLength };
    const trace = { response, principal, unread: undefined };
    const destroy = () => {
      cut.push(name);
      underWay.delete(trace);
    };
    response.req = { socket: { destroy, remoteAddress: from } };
    underWay.add(trace);
    return response;
  };
  const pass = (ms: number) => {
    time += ms;
    sweep(underWay);
    return cut.splice(0);
  };
  return { answer, pass, logged };
}

test('what is little, or taken soon, is left alone', () => {
  const { answer, pass } = stage();
  answer('little', 90);
  const soon = answer('soon', 200);
  expect(pass(4999)).toEqual([]);
  soon.writableLength = 0;
  expect(pass(60_000)).toEqual([]);
});

test('what waits for long is cut, the oldest first, until little is left', () => {
  const { answer, pass, logged } = stage();
  for (const name of ['a', 'b', 'c']) answer(name, 80);
  expect(pass(0)).toEqual([]);
  expect(pass(5000)).toEqual(['a', 'b']);
  expect(logged).toEqual(['2 connections are closed: their clients did not read the responses {"client":"::1"}']);
  expect(pass(60_000)).toEqual([]);
});

test('what is far too much is cut at once, down to what may wait for a moment', () => {
  const { answer, pass } = stage();
  for (let index = 0; index < 10; index += 1) answer(String(index), 60);
  expect(pass(0)).toEqual(['0', '1', '2', '3', '4']);
});

test('each client has its own account: the token, or the address where there are none', () => {
  const { answer, pass } = stage();
  for (const principal of ['ci', 'ci', 'ci', 'boss']) answer(principal, 90, { principal });
  answer('other', 90, { from: '10.0.0.1' });
  pass(0);
  expect(pass(5000)).toEqual(['ci', 'ci']);
});
