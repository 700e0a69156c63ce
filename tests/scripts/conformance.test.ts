/** What `npm run conformance` makes of the suite's checks; the suite itself is run by .ci/run. */
import { expect, test } from 'vitest';
import { report, rowsOf } from '../../scripts/conformance.mjs';

const rows = rowsOf([
  { scenario: 'ping', checks: [{ id: 'ping', status: 'SUCCESS' }] },
  { scenario: 'streams', checks: [{ status: 'INFO' }, { id: 'retry', status: 'WARNING', errorMessage: 'no retry' }] },
  { scenario: 'tools', checks: [{ id: 'a', status: 'SUCCESS' }, { status: 'FAILURE' }] },
]);

test('a check that failed or warned is a complaint, one that only informs is not', () => {
  expect(rows.map(({ scenario: _, ...counts }) => counts)).toEqual([
    { passed: 1, failed: 0, warned: 0, complaints: [] },
    { passed: 0, failed: 0, warned: 1, complaints: ['warning retry: no retry'] },
    { passed: 1, failed: 1, warned: 0, complaints: ['failure tools: no reason given'] },
  ]);
});

test('the report has the sum, a line for each scenario, and its complaints under it', () => {
  expect(report('suite 1.0', rows).split('\n')).toEqual([
    'suite 1.0: 3 scenarios, 2 passed, 1 failed, 1 warned',
    'ok    ping     1 passed, 0 failed, 0 warned',
    'FAIL  streams  0 passed, 0 failed, 1 warned',
    '        warning retry: no retry',
    'FAIL  tools    1 passed, 1 failed, 0 warned',
    '        failure tools: no reason given',
  ]);
});
