/** Packages: pinned exactly, bundled all, from no particular registry; and the licences of what is bundled. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageOf, SIZE_LIMIT, sizeReport, sizesByPackage } from '../../scripts/bundle.mjs';
import { bundledFolders, notices } from '../../scripts/notices.mjs';
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

describe('the size report', () => {
  const part = (bytes: number) => ({ bytesInOutput: bytes });
  const metafile = {
    outputs: {
      'app.js': {
        inputs: { 'src/main.ts': part(10), 'node_modules/ajv/a.js': part(30), 'node_modules/ajv/b.js': part(5) },
      },
    },
  };

  it.each([
    ['src/main.ts', 'mcpx'],
    ['mcpx.schema.json', 'mcpx'],
    ['node_modules/ajv/lib/ajv.js', 'ajv'],
    ['node_modules/@toon-format/toon/index.js', '@toon-format/toon'],
    ['node_modules/a/node_modules/@b/c/d.js', '@b/c'],
  ])('counts %s for %s', (path, name) => {
    expect(packageOf(path)).toBe(name);
  });

  it('adds up by package, largest first', () => {
    expect(sizesByPackage(metafile)).toEqual([
      ['ajv', 35],
      ['mcpx', 10],
    ]);
  });

  it('fails above the limit and names the largest', () => {
    expect(sizeReport(metafile, SIZE_LIMIT)).toContain('1.0 MB of at most 1.0 MB');
    expect(() => sizeReport(metafile, SIZE_LIMIT + 1)).toThrow(/has 1000001 bytes, the limit is 1000000: ajv/);
  });
});

describe('the notices', () => {
  const metafile = {
    inputs: { 'src/main.ts': {}, 'node_modules/ajv/dist/ajv.js': {}, 'node_modules/ajv/dist/core.js': {} },
  };

  it('are about the packages in the bundle, each once', () => {
    expect(bundledFolders(metafile)).toEqual(['node_modules/ajv']);
  });

  it('carry the licence text and the version', () => {
    const text = notices(metafile, { version: '24.0.0', buildFolder: join(ROOT, 'no-such-folder') });
    expect(text).toMatch(/ajv \d+\.\d+\.\d+ \(MIT\)\n\nThe MIT License/);
    expect(text).not.toContain('Node.js');
  });

  it('carry the licence of Node where it is embedded', () => {
    const licence = join(ROOT, 'node_modules/ajv/LICENSE');
    const text = notices(metafile, { version: '24.0.0', licence, buildFolder: join(ROOT, 'no-such-folder') });
    expect(text).toContain('Node.js 24.0.0 (the executables only)\n\nThe MIT License');
  });
});
