/** Compares the documents with the program: commands, options, links, settings, exit codes. English and Chinese pages are in step. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { longName, nameOf, namesOf } from '../src/cli/command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from '../src/cli/commands.ts';
import { DEFAULTS } from '../src/config/config.ts';
import type { Field } from '../src/config/field-kinds.ts';
import { SERVER } from '../src/config/fields.ts';
import { jsonSchema } from '../src/config/json-schema.ts';
import { EXIT_CODES } from '../src/errors.ts';
import {
  CHINESE,
  chineseOf,
  DOCUMENTS,
  ENGLISH,
  linesOf,
  type Page,
  pageOf,
  pathOf,
  tableOf,
  textOf,
} from './setup/documents.ts';
import { anchorOf } from './setup/markdown.ts';
import { shellWords } from './setup/terminal.ts';

const SCRIPTS: Record<string, string> = JSON.parse(textOf('package.json')).scripts;

/** Pages of the repository itself, relative to where its host shows a document. */
const GITHUB_PAGE = /^(?:\.\.\/)+(?:releases(?:\/latest)?|security\/advisories\/new)$/;

const BANNED = [
  { what: 'registry host', found: /registry\.[\w.-]+\.\w+|\b(?:artifactory|verdaccio|npmmirror|nexus)\b/i },
  {
    what: "path of somebody's machine",
    found: /(?<![\w.])\/(?:work(?:space)?|home\/(?!me\b)\w+|Users\/(?!me\b)\w+|root|tmp\/bash)\b/,
  },
  { what: 'mark of unfinished work', found: /\b(?:TODO|FIXME|XXX|TBD|WIP|coming soon|roadmap|milestone)\b/i },
  { what: 'number of an issue', found: /(?<![\w&])#\d+\b|\bissue \d+/i },
  {
    what: 'advertising',
    found: /\b(?:blazing|seamless|effortless|revolutionary|cutting-edge|world-class|game-chang\w+|supercharge\w*)\b/i,
  },
];

/** Returns the fault of a line that begins with `mcpx`. `<…>` and `…` stand for text of the reader. */
function faultOf(line: string): string | undefined {
  const all = shellWords(line).filter((word) => word !== '…');
  // The words after `--` belong to another program.
  const [, ...words] = all.includes('--') ? all.slice(0, all.indexOf('--')) : all;
  const flags = words.filter((word) => /^--?[a-zA-Z]/.test(word)).map((word) => word.replace(/=.*$/s, ''));
  const plain = words.filter((word) => !word.startsWith('-'));
  const named = COMMANDS.find(({ usage }) => nameOf(usage) === plain.slice(0, 2).join(' '));
  const command = named ?? COMMANDS.find(({ usage }) => nameOf(usage) === plain[0]);
  const family = COMMANDS.some(({ usage }) => nameOf(usage).startsWith(`${plain[0]} `)) && plain.length === 1;
  if (plain.length > 0 && command === undefined && !family) return `no such command: ${line}`;
  const known = [...(command?.options ?? []), ...GLOBAL_OPTIONS].flatMap(({ flags: names }) => namesOf(names));
  // The version has a JSON form although it is an option and not a command.
  if (flags.includes('--version')) known.push('--json');
  const unknown = flags.find((flag) => !known.includes(flag));
  return unknown === undefined ? undefined : `no such option: ${unknown} in ${line}`;
}

/** The keys in the paragraph on keys without effect; those after `http` are its own. */
function withoutEffect(): string[] {
  const paragraphs = ENGLISH.flatMap(({ prose }) => prose.split(/\n\n/));
  const paragraph = paragraphs.find((part) => part.includes('**no effect**')) ?? '';
  const spans = [...paragraph.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
  const http = spans.indexOf('http');
  return [...spans.slice(0, http), ...spans.slice(http + 1).map((key) => `http.${key}`)];
}

describe.each(DOCUMENTS)('$file', (document) => {
  const lines = linesOf(document);

  test('names only commands and options that exist', () => {
    const wrong = lines.filter((line) => /^mcpx(\s|$)/.test(line)).map(faultOf);
    expect(wrong.filter((fault) => fault !== undefined)).toEqual([]);
    const known = COMMANDS.flatMap(({ options }) => options).concat(GLOBAL_OPTIONS);
    const alone = lines.filter((line) => /^--[a-z]/.test(line)).map((line) => line.slice(2).replace(/[ =].*$/s, ''));
    expect(alone.filter((name) => !known.some(({ flags }) => longName(flags) === name))).toEqual([]);
  });

  test('names only npm scripts that exist, with options that they have', () => {
    const ran = lines.flatMap((line) => [...line.matchAll(/^npm (?:run )?(start|test|(?<=run )[\w:-]+)(.*)$/g)]);
    for (const [line, name = '', rest = ''] of ran) {
      expect(Object.keys(SCRIPTS), line).toContain(name);
      const file = /scripts\/[\w/-]+\.mjs$/.exec(SCRIPTS[name] ?? '')?.[0];
      const own = name === 'start' ? [] : [...rest.matchAll(/--([a-z]+)/g)].map(([, option]) => option);
      for (const option of own) expect(textOf(file ?? 'package.json'), line).toContain(`${option}: {`);
    }
  });

  test('has links that lead somewhere', () => {
    const wrong = document.links.filter((link) => {
      if (/^https:\/\//.test(link) || GITHUB_PAGE.test(link)) return false;
      const [path = '', anchor] = link.split('#');
      const file = path === '' ? document.file : join(dirname(document.file), path);
      if (!existsSync(pathOf(file))) return true;
      return anchor !== undefined && !pageOf(file).headings.some((heading) => anchorOf(heading.text) === anchor);
    });
    expect(wrong).toEqual([]);
  });

  test('names only source files and folders that exist', () => {
    const paths = document.spans.filter((span) => /^(?:src|scripts|tests|\.github|\.ci)\/[\w./-]*$/.test(span));
    expect(paths.filter((path) => !existsSync(pathOf(path)))).toEqual([]);
  });

  test.each(BANNED)('has no $what', ({ found }) => {
    expect(document.text.match(found)?.[0]).toBeUndefined();
  });
});

describe('the README', () => {
  const both = ['README.md', 'README.zh-CN.md'].map(pageOf);

  test.each(both)('$file is short: at most 250 lines and 10 KB', ({ text }) => {
    expect(text.split('\n').length).toBeLessThanOrEqual(250);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(10_000);
  });

  test.each([
    { readme: 'README.md', pages: ENGLISH },
    { readme: 'README.zh-CN.md', pages: CHINESE },
  ])('$readme has a link to every page of its language', ({ readme, pages }) => {
    const { links } = pageOf(readme);
    const files = pages.map(({ file }) => file).filter((file) => file !== readme);
    expect(files.filter((file) => !links.includes(file))).toEqual([]);
  });
});

test('every English page has a Chinese one, and no other Chinese page exists', () => {
  const names = (pages: Page[]) => pages.map(({ file }) => file).sort();
  expect(names(CHINESE)).toEqual(ENGLISH.map(({ file }) => chineseOf(file)).sort());
});

describe.each(ENGLISH)('$file and its Chinese page', (english) => {
  const chinese = pageOf(chineseOf(english.file));

  test('have the same headings, level by level', () => {
    expect(chinese.headings.map(({ level }) => level)).toEqual(english.headings.map(({ level }) => level));
  });

  test('have the same code blocks, byte by byte', () => {
    const plain = ({ blocks }: Page) => blocks.map(({ language, text: code }) => ({ language, code }));
    expect(plain(chinese)).toEqual(plain(english));
  });

  test('name the same things in code', () => {
    const sorted = ({ spans }: Page) => [...new Set(spans)].sort();
    expect(sorted(chinese)).toEqual(sorted(english));
  });

  test('link to the same pages, each in its language', () => {
    const inLanguage = english.links.map((link) => link.replace(/#.*$/, ''));
    const pages = ENGLISH.map(({ file }) => file);
    const target = (page: Page, link: string) => join(dirname(page.file), link);
    const expected = inLanguage.map((link) => target(english, link)).filter((file) => pages.includes(file));
    const found = chinese.links.map((link) => target(chinese, link.replace(/#.*$/, '')));
    expect(expected.filter((file) => !found.includes(chineseOf(file)))).toEqual([]);
  });
});

test.each([{ pages: ENGLISH }, { pages: CHINESE }])('the documents have the exit codes of the program', ({ pages }) => {
  const codes = [...new Set([0, 130, ...Object.values(EXIT_CODES)])].sort((a, b) => a - b);
  expect(tableOf(pages, '0').map(([code]) => Number(code))).toEqual(codes);
});

describe('what the documents say of the config', () => {
  const spans = ENGLISH.flatMap((page) => page.spans);

  test('every variable and every key that they name exists', () => {
    const source = readdirSync(pathOf('src/config')).map((file) => textOf(join('src/config', file)));
    const variables = spans.filter((span) => /^MCPX_[A-Z_]+$/.test(span));
    const ofInstaller = [...textOf('packaging/install.sh').matchAll(/\$\{(MCPX_\w+)/g)].map(([, name]) => name);
    expect(variables.length).toBeGreaterThan(5);
    const ours = variables.filter((name) => !ofInstaller.includes(name));
    expect(ours.filter((name) => !source.some((code) => code.includes(`'${name}'`)))).toEqual([]);
    const keys = spans.filter((span) => Object.hasOwn(DEFAULTS, span.replace(/\..*$/, '')));
    expect(keys.length).toBeGreaterThan(5);
    const lookUp = (key: string) => key.split('.').reduce<unknown>((value, part) => Object(value)[part], DEFAULTS);
    expect(keys.filter((key) => lookUp(key) === undefined)).toEqual([]);
  });

  const kinds = tableOf(ENGLISH, '`stdio`');
  test('they list every type of server', () => {
    const listed = kinds.map(([type = '']) => type.replaceAll('`', ''));
    const { values } = SERVER.type as Extract<Field, { kind: 'enum' }>;
    expect([...listed, 'auto'].sort()).toEqual([...values].sort());
  });

  test('a setting that nothing reads is listed without effect', () => {
    const outside = readdirSync(pathOf('src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('config'))
      .map((file) => textOf(join('src', file)).replace(/\/\*[\s\S]*?\*\//g, ''));
    const isRead = (key: string) => outside.some((code) => new RegExp(`\\b${key.replace(/^.*\./, '')}\\b`).test(code));
    const keys = Object.entries(DEFAULTS).flatMap(([section, value]) =>
      typeof value === 'object' ? Object.keys(value).map((name) => `${section}.${name}`) : [section],
    );
    const listed = withoutEffect();
    const covered = (key: string) => listed.includes(key) || listed.includes(key.replace(/\..*$/, ''));
    expect(keys.filter((key) => !isRead(key) && !covered(key))).toEqual([]);
  });
});

test('mcpx.schema.json is what the program would write', () => {
  expect(JSON.parse(textOf('mcpx.schema.json'))).toEqual(JSON.parse(JSON.stringify(jsonSchema())));
});

test('docs/configuration.md and its Chinese page have the settings of the program (npm run reference)', () => {
  const check = () =>
    execFileSync(process.execPath, [pathOf('scripts/reference/reference.mjs'), '--check'], { stdio: 'pipe' });
  expect(check).not.toThrow();
});

test('ARCHITECTURE.md has a paragraph on every folder of the source', () => {
  const { headings } = pageOf('ARCHITECTURE.md');
  const folders = readdirSync(pathOf('src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const described = headings.map((heading) => /^`src\/([\w-]+)\/`/.exec(heading.text)?.[1]);
  expect(folders.map(({ name }) => name).filter((name) => !described.includes(name))).toEqual([]);
});

test('ARCHITECTURE.md names files that are in the folder it speaks of', () => {
  const sections = textOf('ARCHITECTURE.md').split(/^#+ /m);
  const wrong = sections.flatMap((section) => {
    const home = /^`((?:src|scripts)\/(?:\w+\/)?)`/.exec(section)?.[1];
    const names = [...section.matchAll(/`([\w-]+\.(?:ts|mjs))`/g)].map(([, name = '']) => name);
    if (home === undefined) return names;
    return names.filter((name) => !existsSync(pathOf(join(home, name)))).map((name) => home + name);
  });
  expect(wrong).toEqual([]);
});

test('every command that a message or an example in the source names exists', () => {
  const files = readdirSync(pathOf('src'), { recursive: true, encoding: 'utf8' }).filter((file) => /\.ts$/.test(file));
  const named = files.flatMap((file) => {
    const code = textOf(join('src', file)).replace(/\/\*[\s\S]*?\*\//g, '');
    const commands = [
      ...code.matchAll(/hint[^\n]*?['"`](mcpx [a-z]+(?: [a-z]+)?)\b|['"`](mcpx [a-z]+ --?[a-z][^'"`]*)/g),
    ];
    return commands.map(([, hint, example]) => ({ file, line: (hint ?? example ?? '').replace(/ \$\{.*$/s, '') }));
  });
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(({ line }) => faultOf(line) !== undefined)).toEqual([]);
});
