/** The number of calls in one `exec`, as rate limits count them. */
import { expect, test } from 'vitest';
import { countCalls } from '../../../src/front/compact/call-count.ts';

test.each([
  [{ tool: 's.t' }, 1],
  [{ calls: [] }, 1],
  [{ calls: [{}, {}, {}] }, 3],
  [{ calls: [{}, { each: ['a', 'b'] }] }, 3],
  [{ each: ['a', 'b'] }, 2],
  [{ each: [] }, 1],
  [{ each: '0.files' }, 100],
  [{ calls: [{}, { each: { $from: '0' } }] }, 100],
  [{ tool: 's.t', calls: [], each: ['a', 'b'] }, 2],
  [{ tool: 's.t', calls: '', each: ['a', 'b'] }, 2],
  [{ calls: { each: ['a', 'b'] } }, 2],
  [{ arguments: { id: 1 }, forEach: ['a', 'b'] }, 2],
  [{ calls: [{ arguments: { id: 1 }, for_each: ['a', 'b'] }] }, 2],
  [{ calls: '[{}]' }, 100],
  [{ calls: Array(500).fill({}) }, 100],
  [{ calls: 'nonsense', each: 5 }, 100],
])('%j has %i', (args, expected) => {
  expect(countCalls(args)).toBe(expected);
});
