/** The failures of npm that `install-clients.mjs` takes for a registry that does not answer. */
import { describe, expect, it } from 'vitest';
import { isSilence } from '../../scripts/install-clients.mjs';

describe('the installation of clients', () => {
  it.each([
    ['npm error code ECONNREFUSED', true],
    ['npm error code ENOTFOUND', true],
    ['npm error code E503\nnpm error 503 Service Unavailable', true],
    ['npm error code EINTEGRITY', false],
    ['npm error code EUSAGE', false],
  ])('that ends with "%s" found a silent registry: %s', (said, expected) => {
    expect(isSilence(said)).toBe(expected);
  });
});
