/** The ratios and the table of `npm run bench:peers`; the measuring itself is not for every test run. */
import { expect, it } from 'vitest';
import { NPM_PEERS } from '../../../scripts/bench/peer-programs.mjs';
import { overview, summarize, table } from '../../../scripts/bench/peers.mjs';

const rounds = [
  { floor: { perSecond: 1000, cpu: 10 }, slow: { perSecond: 500, cpu: 40 }, fast: { perSecond: 900, cpu: 12 } },
  { floor: { perSecond: 2000, cpu: 20 }, slow: { perSecond: 400, cpu: 100 } },
  { floor: { perSecond: 4000, cpu: 30 }, slow: { perSecond: 2000, cpu: 90 } },
];

it('takes ratios within a round, and then the medians; the cheapest comes first', () => {
  expect(summarize(rounds)).toEqual([
    { name: 'floor', rounds: 3, perSecond: 2000, perSecondRatio: 1, cpu: 20, cpuRatio: 1 },
    { name: 'fast', rounds: 1, perSecond: 900, perSecondRatio: 0.9, cpu: 12, cpuRatio: 1.2 },
    { name: 'slow', rounds: 3, perSecond: 500, perSecondRatio: 0.5, cpu: 90, cpuRatio: 4 },
  ]);
});

it('prints a table for the documents', () => {
  expect(table('http-stdio', summarize(rounds)).split('\n')).toEqual([
    '| http → stdio | calls/s | of floor | CPU per call | of floor |',
    '|---|---:|---:|---:|---:|',
    '| floor | 2,000 | 1.00 × | 20 µs | 1.00 × |',
    '| fast | 900 | 0.90 × | 12 µs | 1.20 × |',
    '| slow | 500 | 0.50 × | 90 µs | 4.00 × |',
  ]);
});

it('prints all ways in one table, with a dash for those that a program lacks', () => {
  const [own, other] = [summarize(rounds), summarize(rounds.slice(1))];
  expect(overview({ 'http-stdio': own, 'http-http': other }).split('\n')).toEqual([
    '|  | http → stdio | http → http |',
    '|---|---:|---:|',
    '| floor | 1.0 × (2,000) | 1.0 × (3,000) |',
    '| fast | 1.2 × (900) | – |',
    '| slow | 4.0 × (500) | 4.0 × (1,200) |',
  ]);
});

it('installs exact versions', () => {
  for (const { package: spec } of NPM_PEERS) expect(spec).toMatch(/^(?:@[\w-]+\/)?[\w-]+@\d+\.\d+\.\d+$/);
});
