/** `npm run conformance` evaluates the checks of the suite; .ci/run runs the suite itself. */
import { expect, test } from 'vitest';
import { report, rowsOf, unscored } from '../../../scripts/conformance/conformance.mjs';

/** As the suite ends. */
const PRINTED = `Total: 3 passed, 1 failed

Not scored for 2026-07-28: 2 scenario(s) run, 1 failing. These do not affect conformance.
  ✗ tasks (extension)
  ✓ later (added-after-release)
`;

const rows = rowsOf(
  [
    { scenario: 'ping', checks: [{ id: 'ping', status: 'SUCCESS' }] },
    { scenario: 'streams', checks: [{ status: 'INFO' }, { id: 'retry', status: 'WARNING', errorMessage: 'no retry' }] },
    { scenario: 'tools', checks: [{ id: 'a', status: 'SUCCESS' }, { status: 'FAILURE' }] },
    { scenario: 'tasks', checks: [{ id: 'b', status: 'FAILURE', errorMessage: 'none' }] },
  ],
  unscored(PRINTED),
);

test('a check that failed or warned is a complaint, one that only informs is not', () => {
  expect(rows.map(({ scenario: _, ...counts }) => counts)).toEqual([
    { passed: 1, failed: 0, warned: 0, complaints: [], scored: true },
    { passed: 0, failed: 0, warned: 1, complaints: ['warning retry: no retry'], scored: true },
    { passed: 1, failed: 1, warned: 0, complaints: ['failure tools: no reason given'], scored: true },
    { passed: 0, failed: 1, warned: 0, complaints: ['failure b: none'], scored: false },
  ]);
});

test('what a suite runs without counting it is read from its last words', () => {
  expect([...unscored(PRINTED)]).toEqual(['tasks', 'later']);
  expect([...unscored('Total: 44 passed, 0 failed\n')]).toEqual([]);
});

test('the report has the sum, a line for each scenario, and its complaints under it', () => {
  expect(report('suite 1.0', rows).split('\n')).toEqual([
    'suite 1.0: 4 scenarios, 2 passed, 2 failed, 1 warned',
    'ok    ping     1 passed, 0 failed, 0 warned',
    'FAIL  streams  0 passed, 0 failed, 1 warned',
    '        warning retry: no retry',
    'FAIL  tools    1 passed, 1 failed, 0 warned',
    '        failure tools: no reason given',
    'free  tasks    0 passed, 1 failed, 0 warned',
    '        failure b: none',
  ]);
});
