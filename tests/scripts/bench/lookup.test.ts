/** The table of `npm run bench:lookup`; the measuring itself is not for every test run. */
import { expect, it } from 'vitest';
import { table } from '../../../scripts/bench/lookup.mjs';

it('says which look-up holds up the rest for too long', () => {
  const row = { total: 40, wall: 50.25, resident: 120 };
  const rows = [
    { ...row, name: 'a query', longest: 19.9 },
    { ...row, name: 'a server', longest: 20.1, wall: Number.NaN },
  ];
  const [head, query, server] = table('tools', rows, 20).split('\n');
  expect(head).toContain('≤ 20');
  expect(query?.split(/\s{2,}/)).toEqual(['a query', '19.9', '40.0', '50.3', '120.0', 'ok']);
  expect(server?.split(/\s{2,}/)).toEqual(['a server', '20.1', '40.0', '-', '120.0', 'over']);
});
