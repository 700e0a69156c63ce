/** The GitHub workflows: linted offline by GitHub's own language service, and held to a few rules of ours. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, TARGETS } from '../../scripts/project.mjs';
import { nodeLock } from '../../scripts/release/node.mjs';

interface Diagnostic {
  message: string;
  range: { start: { line: number } };
}
interface Linter {
  validate(document: unknown): Promise<Diagnostic[]>;
  TextDocument: { create(uri: string, languageId: string, version: number, text: string): unknown };
}

const folder = mkdtempSync(join(tmpdir(), 'mcpx-lint-'));
let linter: Linter;

/** The package imports JSON in a way that plain Node refuses; bundled it runs. */
beforeAll(async () => {
  const outfile = join(folder, 'linter.mjs');
  await build({
    stdin: {
      contents: `export { validate } from '@actions/languageservice';
                 export { TextDocument } from 'vscode-languageserver-textdocument';`,
      resolveDir: ROOT,
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    outfile,
    logLevel: 'error',
  });
  linter = (await import(pathToFileURL(outfile).href)) as Linter;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (name: string) => readFileSync(join(ROOT, '.github', 'workflows', name), 'utf8');

async function problems(name: string, text: string): Promise<string[]> {
  // The linter remembers documents by address: every text needs its own.
  const uri = `file:///${randomUUID()}/.github/workflows/${name}`;
  const found = await linter.validate(linter.TextDocument.create(uri, 'yaml', 1, text));
  return found.map(({ message, range }) => `${name}:${range.start.line + 1} ${message}`);
}

describe.each(['ci.yml', 'release.yml'])('%s', (name) => {
  const text = read(name);

  it('has nothing that the linter objects to', async () => {
    expect(await problems(name, text)).toEqual([]);
  });

  it.each([
    ['a misspelt key', 'runs-on:', 'run-on:'],
    ['an unknown context', 'github.ref ', 'githup.ref '],
    ['a misspelt permission', 'contents: read', 'content: read'],
  ])('would not pass with %s', async (_name, right, wrong) => {
    expect(text).toContain(right);
    expect(await problems(name, text.replace(right, wrong))).not.toEqual([]);
  });

  it('may read by default, runs once per branch, and ends in time', () => {
    expect(text).toMatch(/^permissions:\n {2}contents: read$/m);
    expect(text).toMatch(/^concurrency:\n {2}group: /m);
    const ownJobs = text.match(/^ {4}runs-on: /gm) ?? [];
    expect(text.match(/^ {4}timeout-minutes: \d+$/gm)).toHaveLength(ownJobs.length);
  });

  it('uses actions of GitHub only, each pinned by its commit, with the version in a comment', () => {
    const uses = [...text.matchAll(/uses: (.+)/g)].map((match) => match[1]);
    expect(uses.length).toBeGreaterThan(0);
    for (const action of uses) {
      expect(action).toMatch(/^(actions\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\.\/\.github\/workflows\/ci\.yml)$/);
    }
  });

  it('sets up the pinned Node', () => {
    expect(text).toContain(nodeLock().version);
    const others = [...text.matchAll(/\b24\.\d+\.\d+\b/g)].filter(([version]) => version !== nodeLock().version);
    expect(others).toEqual([]);
  });
});

describe('a release', () => {
  it('has an executable for every target, each from a machine of its kind', () => {
    const targets = [...read('release.yml').matchAll(/target: (\S+)\n {12}runner: (\S+)/g)];
    expect(targets.map(([, target]) => target).sort()).toEqual([...TARGETS].sort());
    for (const [, target = '', runner = ''] of targets) {
      const kind = { linux: 'ubuntu', darwin: 'macos', win: 'windows' }[target.split('-')[0] ?? ''];
      expect(runner).toMatch(new RegExp(`^${kind}-`));
    }
  });

  it('can be run again: a second attempt replaces the artifacts of the first one', () => {
    const text = read('release.yml');
    expect(text.match(/overwrite: true/g)).toHaveLength(text.match(/actions\/upload-artifact@/g)?.length ?? 0);
  });

  it('has provenance, and may write nothing else while it builds', () => {
    const text = read('release.yml');
    expect(text).toContain('actions/attest-build-provenance@');
    expect(text.match(/contents: write/g)).toHaveLength(1);
  });
});

describe('the last job of a release', () => {
  const text = read('release.yml');
  const job = text.slice(text.indexOf('\n  release:\n'));

  it('attests every file by SHA256SUMS, and SHA256SUMS itself, for verification without a network too', () => {
    expect(job).toContain('subject-checksums: dist/release/SHA256SUMS');
    expect(job).toContain('subject-path: dist/release/SHA256SUMS');
    expect(job).toContain('dist/release/SHA256SUMS.sigstore.json');
  });

  it('makes a draft with the notes of CHANGELOG.md, marks a pre-release, and replaces the files of a draft only', () => {
    expect(job).toContain('gh release create "$GITHUB_REF_NAME" --draft --verify-tag "$kind"');
    expect(job).not.toContain('--generate-notes');
    expect(job.match(/--notes-file dist\/release-notes\.md/g)).toHaveLength(2);
    expect(job).toContain('*-*) kind=--prerelease ;;');
    expect(job.indexOf('--clobber')).toBeGreaterThan(job.indexOf('true)'));
  });

  it('is the only one that may write, and runs after the installers were tried', () => {
    expect(text.slice(0, text.indexOf('\n  release:\n'))).not.toMatch(/: write$/m);
    expect(job).toContain('needs: [package, try]');
  });
});

describe('dependabot', () => {
  const text = readFileSync(join(ROOT, '.github', 'dependabot.yml'), 'utf8');

  it('updates the actions and the packages of every lockfile, grouped, once a week', () => {
    expect(text.match(/package-ecosystem: .+/g)).toEqual([
      'package-ecosystem: github-actions',
      'package-ecosystem: npm',
    ]);
    expect(text.match(/interval: weekly/g)).toHaveLength(2);
    expect(text.match(/groups:/g)).toHaveLength(2);
    const folders = [...text.matchAll(/^ {6}- \/(.*)$/gm)].map(([, folder = '']) => folder);
    const files = readdirSync(join(ROOT, 'scripts'), { recursive: true, encoding: 'utf8' });
    const nested = files.filter((file) => basename(file) === 'package-lock.json').map((file) => dirname(file));
    expect(folders.sort()).toEqual(['', ...nested.map((folder) => `scripts/${folder.replaceAll('\\', '/')}`)].sort());
  });
});
