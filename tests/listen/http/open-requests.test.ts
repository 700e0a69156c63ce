/** Requests under way, and who is told that an answer is slow. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RequestTrace } from '../../../src/listen/http/access-log.ts';
import { createOpenRequests } from '../../../src/listen/http/open-requests.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const trace = (id: string) => new RequestTrace(id, '::1', {} as ServerResponse);

function stage() {
  const looks: string[][] = [];
  const underWay = createOpenRequests((all) => void looks.push([...all].map(({ request }) => request)));
  return { underWay, looks };
}

test('they are looked at while there are any, and nothing is left running after the last', () => {
  const { underWay, looks } = stage();
  const a = underWay.add(trace('a'));
  vi.advanceTimersByTime(300);
  expect(looks).toEqual([['a'], ['a']]);
  underWay.remove(a);
  vi.advanceTimersByTime(1000);
  expect(looks).toEqual([['a'], ['a'], []]);
  expect(vi.getTimerCount()).toBe(0);
  underWay.add(trace('b'));
  expect(vi.getTimerCount()).toBe(1);
  underWay.close();
  expect(vi.getTimerCount()).toBe(0);
});

test('whoever waits for a slow answer is told once, after half a second', () => {
  const { underWay } = stage();
  const told: string[] = [];
  const add = (id: string) => {
    const one = trace(id);
    one.whenSlow({ slow: () => void told.push(id) });
    return underWay.add(one);
  };
  add('early');
  const gone = add('gone');
  vi.advanceTimersByTime(300);
  add('late');
  underWay.remove(gone);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(400);
  expect(told).toEqual(['early']);
  vi.advanceTimersByTime(2000);
  expect(told).toEqual(['early', 'late']);
});
