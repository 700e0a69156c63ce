/** The committed config of the executable, and how each target's is made from it. */
import { describe, expect, it } from 'vitest';
import { seaConfig, seaTemplate } from '../../../scripts/release/sea.mjs';

const template = seaTemplate();

describe('the executable', () => {
  it('lets no NODE_OPTIONS in', () => {
    expect(template.execArgvExtension).toBe('none');
  });

  it('leaves every word of the command line to mcpx: Node itself would read --env-file', () => {
    expect(template.execArgv?.at(-1)).toBe('--');
  });

  it('trusts the certificates of the system and honours its proxy', () => {
    expect(template.execArgv).toEqual(expect.arrayContaining(['--use-system-ca', '--use-env-proxy']));
  });

  it('holds little garbage: short-lived objects get 8 MB, not 32, which is enough under load and saves half the memory after it', () => {
    expect(template.execArgv).toContain('--max-semi-space-size=8');
  });

  it('prints no warning of its own, and uses neither the snapshot nor the cache of the boot file', () => {
    expect(template).toMatchObject({ disableExperimentalSEAWarning: true, useSnapshot: false, useCodeCache: false });
  });

  it('holds the app and its code cache, and nothing else', () => {
    expect(Object.keys(template.assets).sort()).toEqual(['app.cache', 'app.js']);
  });

  it('for a machine that could not be tried goes without the cache', () => {
    expect(Object.keys(seaConfig(template, { cached: false }).assets)).toEqual(['app.js']);
    expect(seaConfig(template, { cached: true })).toEqual(template);
  });

  it('is described by paths that mean the same in every folder', () => {
    for (const path of [template.main, template.output, ...Object.values(template.assets)]) {
      expect(path).toMatch(/^build\/[\w.]+$/);
    }
  });
});
