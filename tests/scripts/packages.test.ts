/** The packages are pinned exactly, all of them are bundled, and no file names a registry. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/project.mjs';

/** Folders that git ignores, and git's own. */
const NOT_OURS = new Set(['node_modules', 'dist', 'build', '.cache', 'coverage', '.git']);

function ourFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (NOT_OURS.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return ourFiles(path);
    return entry.isFile() ? [path] : [];
  });
}

describe('package.json', () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;

  it('has no dependency that would have to be installed beside the executable', () => {
    for (const field of ['dependencies', 'optionalDependencies', 'peerDependencies', 'bundleDependencies']) {
      expect(manifest[field], field).toBeUndefined();
    }
  });

  it.each(Object.entries(manifest.devDependencies as Record<string, string>))('pins %s exactly', (_name, version) => {
    expect(version).toMatch(/^(npm:[@\w./-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/);
  });
});

/** The lockfile, as far as these tests read it. */
interface Lockfile {
  packages: Record<string, { resolved?: string; integrity?: string; optionalDependencies?: Record<string, string> }>;
}
const lockfile = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lockfile;

/** The places where a package looks for another one: its own node_modules, then those of the folders around it. */
function lookups(path: string, name: string): string[] {
  const parts = path.split('/node_modules/');
  return parts.map((_, i) => `${parts.slice(0, parts.length - i).join('/node_modules/')}/node_modules/${name}`);
}

describe('the lockfile', () => {
  it('has the native parts for every system, without which npm ci refuses it', () => {
    const missing = Object.entries(lockfile.packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((name) => ![`node_modules/${name}`, ...lookups(path, name)].some((at) => at in lockfile.packages))
        .map((name) => `${path} needs ${name}`),
    );
    expect(missing).toEqual([]);
  });
});

describe('the registry', () => {
  it('is named in no file', () => {
    const host = /registry\.(npmjs|npmmirror|yarnpkg)\.|npm\.pkg\.github\./;
    const naming = ourFiles(ROOT).filter((file) => host.test(readFileSync(file, 'latin1')));
    expect(naming).toEqual([]);
  });

  it('is left open by the lockfile, which has a hash for every package', () => {
    const packages = Object.entries(lockfile.packages).filter(([path]) => path !== '');
    expect(packages.length).toBeGreaterThan(0);
    expect(packages.filter(([, entry]) => entry.resolved !== undefined)).toEqual([]);
    expect(packages.filter(([, entry]) => !/^sha512-/.test(entry.integrity ?? ''))).toEqual([]);
  });
});
