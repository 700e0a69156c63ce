/** A whole release, packed from executables as a workflow downloads them: without their modes. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { verifySums } from '../../../scripts/packages/checksums.mjs';
import { packRelease } from '../../../scripts/packages/packages.mjs';
import { projectVersion } from '../../../scripts/project.mjs';
import { bundle } from '../../../scripts/release/bundle.mjs';
import { tarEntries } from '../../../scripts/release/tar.mjs';
import { readMarkdown } from '../../setup/markdown.ts';

const root = mkdtempSync(join(tmpdir(), 'mcpx-packed-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const INSIDE = `mcpx-${projectVersion()}-darwin-x64`;
let release = '';
let files: Map<string, Buffer>;

beforeAll(async () => {
  const [dist, build] = [join(root, 'dist'), join(root, 'build')];
  for (const folder of [dist, build]) mkdirSync(folder);
  writeFileSync(join(dist, 'mcpx-darwin-x64'), 'executable', { mode: 0o644 });
  writeFileSync(join(dist, 'mcpx.cjs'), `#!/usr/bin/env node\n${(await bundle(build)).source}`, 'latin1');
  writeFileSync(join(dist, 'THIRD_PARTY_NOTICES'), 'notices');
  release = await packRelease({ dist, build, targets: ['darwin-x64'], repository: 'a/mcpx', fast: true, draft: true });
  const archive = gunzipSync(readFileSync(join(release, `${INSIDE}.tar.gz`)));
  files = new Map([...tarEntries(archive)].map(({ name, data }) => [name.replace(`${INSIDE}/`, ''), data]));
}, 120_000);

test('the programs can be executed, and every file has a checksum', () => {
  for (const name of ['mcpx-darwin-x64', 'mcpx.cjs', 'install.sh']) {
    if (process.platform !== 'win32') expect(statSync(join(release, name)).mode & 0o111, name).toBe(0o111);
    expect([...verifySums(release).keys()]).toContain(name);
  }
});

test('an archive has the executable, licences, documents, completions and the man page', () => {
  expect(files.get('mcpx')?.toString()).toBe('executable');
  expect([...files.keys()]).toEqual(
    expect.arrayContaining(['LICENSE', 'THIRD_PARTY_NOTICES', 'README.md', 'README.zh-CN.md', 'man/mcpx.1']),
  );
});

/** Documents for people who change the code; they are only in the repository. */
const IN_THE_REPOSITORY = /^(?:ARCHITECTURE\.md|CONTRIBUTING\.md|mcpx\.schema\.json)$/;

test('the links of the documents in an archive lead to files of the archive', () => {
  const missing = [...files]
    .filter(([name]) => name.endsWith('.md'))
    .flatMap(([name, data]) =>
      readMarkdown(data.toString())
        .links.filter((link) => !/^(?:https?:|#)/.test(link) && !/releases\/latest|security\/advisories/.test(link))
        .map((link) => posix.join(dirname(name), link.replace(/#.*$/, '')))
        .filter((path) => !files.has(path) && !IN_THE_REPOSITORY.test(path))
        .map((path) => `${name}: ${path}`),
    );
  expect(missing).toEqual([]);
});
