/** The files for package managers: made from SHA256SUMS alone, with the hashes and addresses of a release. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { homebrewFormula, releaseFacts, writeChannels } from '../../../scripts/packages/channels.mjs';
import { readSums, verifySums, writeSums } from '../../../scripts/packages/checksums.mjs';
import { projectVersion, TARGETS } from '../../../scripts/project.mjs';

const folder = mkdtempSync(join(tmpdir(), 'mcpx-channels-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const VERSION = projectVersion();
const REPOSITORY = 'someone/mcpx';
const ADDRESS = `https://github.com/${REPOSITORY}/releases/download/v${VERSION}`;
const archives = TARGETS.map((target) => `mcpx-${VERSION}-${target}.${target.startsWith('win') ? 'zip' : 'tar.gz'}`);
let sums: Map<string, string>;

beforeAll(() => {
  for (const name of archives) writeFileSync(join(folder, name), `content of ${name}`);
  sums = writeSums(folder);
  writeChannels(folder, { repository: REPOSITORY });
});

const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const sumOf = (target: string) => sums.get(archives.find((name) => name.includes(`-${target}.`)) ?? '');

describe('SHA256SUMS', () => {
  test('names every file, and a changed file is found', () => {
    expect([...sums.keys()]).toEqual([...archives].sort());
    expect([...verifySums(folder).keys()]).toEqual([...archives].sort());
    const [first = ''] = archives;
    const before = read(first);
    writeFileSync(join(folder, first), 'changed');
    expect(() => verifySums(folder)).toThrow(first);
    writeFileSync(join(folder, first), before);
  });

  test('a line in another form is refused', () => {
    expect(() => readSums('abc  file\n')).toThrow('SHA256SUMS has the line');
  });
});

describe('the Homebrew formula', () => {
  const blocks = () => [...read('mcpx.rb').matchAll(/on_(macos|linux) do\n([\s\S]*?)\n {2}end/g)];

  test('has an archive for each processor of macOS and Linux, with its hash', () => {
    const found = blocks().flatMap(([, system, block = '']) =>
      [...block.matchAll(/on_(\w+) do\n +url "(.*)"\n +sha256 "(.*)"/g)].map(([, cpu, url, hash]) => [
        `${system} ${cpu}`,
        url,
        hash,
      ]),
    );
    const row = (title: string, target: string) => [
      title,
      `${ADDRESS}/mcpx-${VERSION}-${target}.tar.gz`,
      sumOf(target),
    ];
    expect(found).toEqual([
      row('macos arm', 'darwin-arm64'),
      row('macos intel', 'darwin-x64'),
      row('linux arm', 'linux-arm64'),
      row('linux intel', 'linux-x64'),
    ]);
  });

  test('leaves out a system that the release does not have', () => {
    const some = new Map([...sums].filter(([name]) => name.includes('linux-x64')));
    const formula = homebrewFormula(releaseFacts(some, { repository: REPOSITORY }));
    expect(formula).not.toContain('macos');
    expect(formula.match(/^ +sha256 /gm)).toHaveLength(1);
  });

  test('has an end for every beginning', () => {
    const lines = read('mcpx.rb').split('\n');
    const begins = lines.filter((line) => /^\s*(?:class|def)\b|\bdo$/.test(line));
    expect(lines.filter((line) => /^\s*end$/.test(line))).toHaveLength(begins.length);
  });
});

test('the Scoop manifest has both processors, and updates itself from SHA256SUMS', () => {
  const { version, architecture, autoupdate, bin, checkver } = JSON.parse(read('mcpx.json'));
  expect([version, bin, checkver]).toEqual([VERSION, 'mcpx.exe', 'github']);
  for (const [cpu, target] of [
    ['64bit', 'win-x64'],
    ['arm64', 'win-arm64'],
  ] as const) {
    const folderInside = `mcpx-${VERSION}-${target}`;
    expect(architecture[cpu]).toEqual({
      url: `${ADDRESS}/${folderInside}.zip`,
      hash: sumOf(target),
      extract_dir: folderInside,
    });
    const updated = JSON.stringify(autoupdate.architecture[cpu]).replaceAll('$version', VERSION);
    expect(JSON.parse(updated)).toEqual({ url: architecture[cpu].url, extract_dir: folderInside });
  }
  expect(autoupdate.hash.url.replace('$baseurl', ADDRESS)).toBe(`${ADDRESS}/SHA256SUMS`);
});

describe('the winget manifests', () => {
  const manifest = (kind: string) => parse(read(`winget/someone.mcpx${kind}.yaml`));

  test('are three that speak of the same package and version', () => {
    const all = ['', '.installer', '.locale.en-US'].map(manifest);
    expect(all.map(({ ManifestType }) => ManifestType)).toEqual(['version', 'installer', 'defaultLocale']);
    for (const { PackageIdentifier, PackageVersion, ManifestVersion } of all) {
      expect([PackageIdentifier, PackageVersion, ManifestVersion]).toEqual(['someone.mcpx', VERSION, '1.6.0']);
    }
  });

  test('have the executable inside each archive', () => {
    const { Installers } = manifest('.installer');
    expect(Installers).toEqual(
      [
        ['x64', 'win-x64'],
        ['arm64', 'win-arm64'],
      ].map(([Architecture, target = '']) => ({
        Architecture,
        InstallerUrl: `${ADDRESS}/mcpx-${VERSION}-${target}.zip`,
        InstallerSha256: sumOf(target)?.toUpperCase(),
        NestedInstallerFiles: [
          { RelativeFilePath: `mcpx-${VERSION}-${target}\\mcpx.exe`, PortableCommandAlias: 'mcpx' },
        ],
      })),
    );
  });
});

test('a release without archives for Windows has no manifests for Windows', () => {
  const partial = join(folder, 'partial');
  mkdirSync(partial);
  writeFileSync(join(partial, `mcpx-${VERSION}-linux-x64.tar.gz`), 'archive');
  writeSums(partial);
  expect(writeChannels(partial, { repository: REPOSITORY })).toEqual(['mcpx.rb']);
});

test('a repository without an owner is refused', () => {
  expect(() => writeChannels(folder, { repository: 'mcpx' })).toThrow('the name of the repository is needed');
});
