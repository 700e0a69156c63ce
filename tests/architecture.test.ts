/** Holds the shape of the source: layers, owners, file lengths, opening comments. The rules are those of ARCHITECTURE.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { expect, test } from 'vitest';
import { duplicateNames, importCycles, lacksSubject, opaqueNames, readSources } from '../scripts/shape/source.mjs';

const ROOT = resolve(import.meta.dirname, '..');
const SRC = join(ROOT, 'src');

interface Source {
  /** Relative to src/, with forward slashes. */
  path: string;
  text: string;
  /** Without comments and string contents, for looking at code only. */
  code: string;
  imports: { specifier: string; typeOnly: boolean; isLazy: boolean }[];
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
  ['cancel-signal', 'errors', 'version', 'lossless-json', 'invisible-characters'],
  ['files', 'slot-map', 'bounded-map', 'event-loop'],
  ['file-handles', 'private-file'],
  ['observe'],
  ['config'],
  ['wire', 'policy', 'render', 'client-config', 'server-packages'],
  ['mcp'],
  ['upstream'],
  ['catalog'],
  ['router'],
  ['front'],
  ['listen'],
  ['app'],
  ['cli'],
  ['main', 'boot', 'library'],
];

/** Operations that only their owners may use. A trailing slash is a folder. */
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
    ...found.map(([, type, specifier = '']) => ({ specifier, typeOnly: type !== undefined, isLazy: false })),
    ...dynamic.map(([, specifier = '']) => ({ specifier, typeOnly: false, isLazy: true })),
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

function localImports(source: Source): string[] {
  return source.imports
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => target(source, specifier));
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

/** The modules that are loaded with these files, without those of a dynamic import. */
function loadedWith(paths: string[]): Set<string> {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const loaded = new Set<string>();
  const load = (path: string) => {
    const source = byPath.get(path);
    if (source === undefined || loaded.has(path)) return;
    loaded.add(path);
    for (const { specifier, typeOnly, isLazy } of source.imports) {
      if (typeOnly || isLazy) continue;
      if (specifier.startsWith('.')) load(target(source, specifier));
      else loaded.add(specifier);
    }
  };
  for (const path of paths) load(path);
  return loaded;
}

test('serve does not load consola and readline, which only shell commands use', () => {
  const loaded = loadedWith(['main.ts', 'cli/serve.ts']);
  expect(loaded).toContain('cac');
  expect([...loaded].filter((one) => /consola|readline/.test(one))).toEqual([]);
});

test('a start loads no HTTP and TLS of Node: with TLS, Node reads every certificate of the system', () => {
  expect([...loadedWith(['main.ts', 'cli/serve.ts'])].filter((one) => /^node:(?:https?|http2|tls)$/.test(one))).toEqual(
    [],
  );
  const boot = [...loadedWith(['boot.ts'])].filter((one) => one.startsWith('node:')).sort();
  expect(boot).toEqual(['node:fs', 'node:sea', 'node:vm']);
});

/** Types that give access to `request` of a connection. */
const SENDING =
  /^import type \{[^}]*\b(?:Connection|Pool)\b[^}]*\} from '[^']*upstream\/(?:connection-interface|pool)\.ts';/m;

test('only the router sends requests to a connection, beside the catalog that lists', () => {
  const able = sources.filter(({ path, text }) => !path.startsWith('upstream/') && SENDING.test(text));
  const folders = new Set(able.map(({ path }) => path.split('/')[0]));
  expect([...folders].sort()).toEqual(['catalog', 'router']);
  const senders = able.filter(({ code }) => /\.request\(/.test(code)).map(({ path }) => path);
  expect(senders).toEqual(['catalog/listing.ts', 'router/background-request.ts', 'router/dispatch.ts']);
});

test('fronts and listeners import only types from upstream/', () => {
  const wrong = sources.flatMap((source) =>
    source.imports
      .filter(({ specifier, typeOnly }) => !typeOnly && specifier.startsWith('.'))
      .map(({ specifier }) => target(source, specifier))
      .filter((path) => /^(?:front|listen)\//.test(source.path) && path.startsWith('upstream/'))
      .map((path) => `${source.path} → ${path}`),
  );
  expect(wrong).toEqual([]);
});

const parsed = readSources(SRC);

test('no file name occurs twice, except where the path gives the direction', () => {
  expect(duplicateNames(parsed)).toEqual([]);
});

/** Subfolders without an entry file: a collection of parts of the same kind. */
const WITHOUT_ENTRY = ['listen/api', 'upstream/http'];

/** Files of a subfolder that other layers may import, besides its entry file and its leaves. */
const EXCEPTIONS = [
  'catalog/pins/digest.ts',
  'catalog/pins/enforce.ts',
  'catalog/pins/lock-comparison.ts',
  'catalog/pins/shown-definitions.ts',
  'catalog/search/ranking.ts',
  'front/compact/dialect.ts',
  'front/compact/inspect-tool.ts',
  'front/compact/resources-tool.ts',
  'front/compact/result-store.ts',
  'front/compact/result-values.ts',
  'front/compact/select.ts',
  'front/compact/tool-definitions.ts',
  'listen/http/guard.ts',
  'listen/http/protected-resource.ts',
  'upstream/process/orphans.ts',
  'upstream/sharing/pool-entry.ts',
  'upstream/transports/module-server.ts',
];

test('a subfolder has an entry file with the name of the folder', () => {
  const folders = new Set(sources.map(({ path }) => dirname(path)).filter((folder) => folder.includes('/')));
  const known = new Set(sources.map(({ path }) => path));
  expect([...folders].filter((folder) => !known.has(`${folder}/${basename(folder)}.ts`)).sort()).toEqual(WITHOUT_ENTRY);
});

test('other layers import a subfolder by its entry file, by a leaf, or by a listed exception', () => {
  const imports = new Map(sources.map((source) => [source.path, localImports(source)]));
  const isLeaf = (path: string) => !imports.get(path)?.some((other) => dirname(other) === dirname(path));
  const isEntry = (path: string) => basename(path, '.ts') === basename(dirname(path));
  const imported = sources.flatMap(({ path: from }) =>
    (imports.get(from) ?? [])
      .filter((path) => dirname(path).includes('/') && path.split('/')[0] !== from.split('/')[0])
      .filter((path) => !isEntry(path) && !isLeaf(path)),
  );
  expect([...new Set(imported)].sort()).toEqual(EXCEPTIONS);
});

test('names have no private metaphors', () => {
  expect(opaqueNames(parsed)).toEqual([]);
});

test.each(['src', 'tests', 'scripts'])('no comment sentence in %s has a clause as its subject', (folder) => {
  const sentences = readSources(join(ROOT, folder)).flatMap(({ path, comments }) =>
    comments.filter(lacksSubject).map((sentence) => `${path}: ${sentence}`),
  );
  expect(sentences).toEqual([]);
});

test('no import cycle has more than three files, type imports included', () => {
  expect(importCycles(parsed).filter((files) => files.length > 3)).toEqual([]);
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
