/** Holds the shape of the source: layers, owners, file lengths, opening comments. The rules are those of ARCHITECTURE.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

interface Source {
  /** Relative to src/, with forward slashes. */
  path: string;
  text: string;
  /** Without comments and string contents, for looking at code only. */
  code: string;
  imports: { specifier: string; typeOnly: boolean }[];
}

const sources: Source[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => path.split(sep).join('/'))
  .sort()
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8');
    return { path, text, code: withoutComments(text), imports: importsOf(text) };
  });

/** Lowest first; folders of one row may not import each other. */
const LAYERS = [
  ['errors', 'version', 'exact', 'invisible'],
  ['files', 'in-flight'],
  ['handles'],
  ['observe'],
  ['config'],
  ['wire', 'policy', 'render'],
  ['upstream'],
  ['catalog'],
  ['router'],
  ['front'],
  ['listen'],
  ['app'],
  ['cli'],
  ['main', 'boot'],
];

/** Who may do what nobody else may. A trailing slash is a folder. */
const OWNERS: { what: RegExp; owners: string[] }[] = [
  { what: /process\.stdout/, owners: ['listen/stdio.ts', 'cli/output.ts', 'main.ts'] },
  { what: /writeSync\(1\b/, owners: ['boot.ts'] },
  { what: /process\.exit\(/, owners: ['main.ts'] },
  { what: /process\.env\b/, owners: ['config/', 'cli/output.ts'] },
  { what: /\bconsole\.(log|info|warn|error|debug)\(/, owners: [] },
];

function layerOf(path: string): number {
  const head = (path.split('/')[0] ?? '').replace(/\.ts$/, '');
  return LAYERS.findIndex((row) => row.includes(head));
}

function importsOf(text: string): Source['imports'] {
  const found = [...text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"]*?from\s+)?'([^']+)';/gm)];
  const dynamic = [...text.matchAll(/import\('([^']+)'\)/g)];
  return [
    ...found.map(([, type, specifier = '']) => ({ specifier, typeOnly: type !== undefined })),
    ...dynamic.map(([, specifier = '']) => ({ specifier, typeOnly: false })),
  ];
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}

function target(source: Source, specifier: string): string {
  return relative(SRC, resolve(SRC, dirname(source.path), specifier))
    .split(sep)
    .join('/');
}

const owns = (owners: string[], path: string) =>
  owners.some((owner) => (owner.endsWith('/') ? path.startsWith(owner) : path === owner));

test('every source file belongs to a layer', () => {
  expect(sources.filter(({ path }) => layerOf(path) < 0).map(({ path }) => path)).toEqual([]);
  expect(sources.length).toBeGreaterThan(40);
});

test('imports point down, and never sideways between folders of one layer', () => {
  const wrong = sources.flatMap((source) =>
    source.imports
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier }) => target(source, specifier))
      .filter((path) => {
        const from = source.path.split('/')[0];
        const to = path.split('/')[0];
        if (from === to) return false;
        return layerOf(path) >= layerOf(source.path);
      })
      .map((path) => `${source.path} → ${path}`),
  );
  expect(wrong).toEqual([]);
});

test('every local import names an existing file with its extension', () => {
  const known = new Set(sources.map(({ path }) => path));
  const wrong = sources.flatMap((source) =>
    source.imports
      .filter(({ specifier }) => specifier.startsWith('.') && specifier.endsWith('.ts'))
      .filter(({ specifier }) => !known.has(target(source, specifier)))
      .map(({ specifier }) => `${source.path} → ${specifier}`),
  );
  expect(wrong).toEqual([]);
});

test.each(OWNERS)('$what is used by its owners, each of them, and by nobody else', ({ what, owners }) => {
  const users = sources.filter(({ code }) => what.test(code)).map(({ path }) => path);
  expect(users.filter((path) => !owns(owners, path))).toEqual([]);
  expect(owners.filter((owner) => !users.some((path) => owns([owner], path)))).toEqual([]);
});

test('the SDK is not imported at run time', () => {
  const users = sources
    .filter(({ imports }) => imports.some((one) => !one.typeOnly && one.specifier.startsWith('@modelcontextprotocol/')))
    .map(({ path }) => path);
  expect(users).toEqual([]);
});

test('only the router sends work to a connection, beside the catalog that lists', () => {
  const users = sources
    .filter(({ path }) => !path.startsWith('upstream/'))
    .filter(({ code }) => /connection\.request\(/.test(code))
    .map(({ path }) => path);
  const senders = sources.filter(({ code }) => /from '[^']*\/ties\.ts'/.test(code)).map(({ path }) => path);
  expect(senders).toEqual(['router/router.ts']);
  expect(users.sort()).toEqual(['catalog/list.ts', 'router/ties.ts', 'router/wishes.ts']);
});

test('no file is longer than 300 lines', () => {
  const long = sources.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }));
  expect(long.filter(({ lines }) => lines > 300)).toEqual([]);
});

test('every file opens with a comment that says what it is for', () => {
  expect(sources.filter(({ text }) => !/^\/\*\* \S.{15,}/.test(text)).map(({ path }) => path)).toEqual([]);
});

test('no file is a drawer: no utils, types, helpers, managers or barrels', () => {
  const drawer = /(^|\/)(utils?|types|helpers?|common|core|interfaces|services|index)(\/|\.ts$)/;
  expect(sources.filter(({ path }) => drawer.test(path)).map(({ path }) => path)).toEqual([]);
  const named = /\b(?:interface|class|type) (?:I[A-Z]\w+|\w+(?:Manager|Handler|Helper))\b/;
  expect(sources.filter(({ code }) => named.test(code)).map(({ path }) => path)).toEqual([]);
});

const BEGINNINGS = ['main.ts', 'boot.ts'];
const MODULES = sources.filter(({ path }) => !BEGINNINGS.includes(path));

test('no module keeps mutable state of its own: no variable, and no empty collection that waits to be filled', () => {
  const state =
    /^(?:export )?(?:let |const \w+\b(?!: (?:Readonly|readonly )).* = (?:new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)|\[\]|\{\});)/m;
  expect(MODULES.filter(({ code }) => state.test(code)).map(({ path }) => path)).toEqual([]);
});

test('no module does anything when it is imported', () => {
  const statement =
    /^(?!(?:import|export|const|let|type|interface|declare|(?:async )?function|(?:abstract )?class)\b)[\w(]/m;
  expect(MODULES.filter(({ code }) => statement.test(code)).map(({ path }) => path)).toEqual([]);
});

test('nothing is left for later in the code', () => {
  const marks = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].join('|')})\\b`);
  expect(sources.filter(({ text }) => marks.test(text)).map(({ path }) => path)).toEqual([]);
});
