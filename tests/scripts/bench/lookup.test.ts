/** The table of `npm run bench:lookup`; the measuring itself is not for every test run. */
import { expect, it } from 'vitest';
import { table } from '../../../scripts/bench/lookup.mjs';

it('says which look-up holds up the rest for too long', () => {
  const row = { total: 40, wall: 50.25, resident: 120 };
  const rows = [
    { ...row, name: 'a query', longest: 19.9 },
    { ...row, name: 'a server', longest: 20.1, wall: Number.NaN },
    { ...row, name: 'list_changed', longest: 50 },
  ];
  const [head, query, server, changed] = table('tools', rows).split('\n');
  expect(head?.split(/\s{2,}/)).toEqual(['tools', 'longest ms', 'cpu ms', 'wall ms', 'RSS MB', 'limit']);
  expect(query?.split(/\s{2,}/)).toEqual(['a query', '19.9', '40.0', '50.3', '120.0', '≤ 20', 'ok']);
  expect(server?.split(/\s{2,}/)).toEqual(['a server', '20.1', '40.0', '-', '120.0', '≤ 20', 'over']);
  // One large message is parsed at once.
  expect(changed?.split(/\s{2,}/).slice(-2)).toEqual(['≤ 80', 'ok']);
});
