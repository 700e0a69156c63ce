/** Holds the documents to the program: commands, options, output, config examples, links, exit codes, and the two READMEs in step. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { createApp } from '../src/app/app.ts';
import { longName, nameOf, namesOf } from '../src/cli/command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from '../src/cli/commands.ts';
import { DEFAULTS } from '../src/config/config.ts';
import { type Field, SERVER } from '../src/config/fields.ts';
import { jsonSchema } from '../src/config/json-schema.ts';
import { demoConfig, loadConfig } from '../src/config/load.ts';
import { EXIT_CODES } from '../src/errors.ts';
import { SILENT } from '../src/observe/log.ts';
import { readModule, runTool } from '../src/upstream/transports/module-tools.ts';
import { anchorOf, type CodeBlock, type Document, readMarkdown } from './setup/markdown.ts';
import { shellWords, typeLine } from './setup/terminal.ts';
import { PATIENCE } from './setup/until.ts';

const ROOT = resolve(import.meta.dirname, '..');
const text = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const FILES = readdirSync(ROOT).filter((file) => file.endsWith('.md'));
const DOCUMENTS = FILES.map((file) => ({ file, text: text(file), ...readMarkdown(text(file)) }));
const documentOf = (file: string) => readMarkdown(text(file));
const ENGLISH = documentOf('README.md');
const CHINESE = documentOf('README.zh-CN.md');
const SCRIPTS: Record<string, string> = JSON.parse(text('package.json')).scripts;

const folder = mkdtempSync(join(tmpdir(), 'mcpx-docs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Pages of the repository itself, relative to where its host shows a document. */
const GITHUB_PAGES = ['../../releases', '../../security/advisories/new'];

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

/** Command lines in fences and in sentences: pipelines apart, without prompts, variables in front, and comments. */
function linesOf({ blocks, spans }: Pick<Document, 'blocks' | 'spans'>): string[] {
  const typed = blocks.flatMap((block) => {
    if (block.language === 'console') return sessionsOf(block).map(({ line }) => line);
    return block.language === 'sh' ? block.text.replaceAll('\\\n', ' ').split('\n') : [];
  });
  return [...typed, ...spans]
    .flatMap((line) => line.replace(/\s#.*$/, '').split(/\s(?:\||&&|;)\s/))
    .map((line) => line.replace(/^(?:[A-Z_]+=\S*\s+)+/, '').trim());
}

/** What a `console` block shows: each line after `$`, with the output under it. */
function sessionsOf({ text: shown }: Pick<CodeBlock, 'text'>): { line: string; output: string }[] {
  return shown
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = '', ...output] = part.split('\n');
      return { line, output: output.join('\n').trimEnd() };
    });
}

/** What is wrong with a line that begins with `mcpx`. `<…>` and `…` stand for something the reader fills in. */
function faultOf(line: string): string | undefined {
  const [, ...words] = shellWords(line).filter((word) => word !== '…');
  const flags = words.filter((word) => /^--?[a-zA-Z]/.test(word)).map((word) => word.replace(/=.*$/s, ''));
  const plain = words.filter((word) => !word.startsWith('-'));
  const named = COMMANDS.find(({ usage }) => nameOf(usage) === plain.slice(0, 2).join(' '));
  const command = named ?? COMMANDS.find(({ usage }) => nameOf(usage) === plain[0]);
  const family = COMMANDS.some(({ usage }) => nameOf(usage).startsWith(`${plain[0]} `)) && plain.length === 1;
  if (plain.length > 0 && command === undefined && !family) return `no such command: ${line}`;
  const known = [...(command?.options ?? []), ...GLOBAL_OPTIONS].flatMap(({ flags: all }) => namesOf(all));
  // The version has a JSON form although it is an option and not a command.
  if (flags.includes('--version')) known.push('--json');
  const unknown = flags.find((flag) => !known.includes(flag));
  return unknown === undefined ? undefined : `no such option: ${unknown} in ${line}`;
}

/** A config as it loads, with unknown keys as errors. */
function load(written: string) {
  const file = join(folder, 'config.json');
  writeFileSync(file, written);
  return loadConfig({ files: [file], strict: true }).config;
}

/** The keys in the paragraph on keys without effect; those after `http` are its own. */
function withoutEffect(): string[] {
  const paragraph = ENGLISH.prose.split(/\n\n/).find((part) => part.includes('**no effect**')) ?? '';
  const spans = [...paragraph.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
  const http = spans.indexOf('http');
  return [...spans.slice(0, http), ...spans.slice(http + 1).map((key) => `http.${key}`)];
}

/** What a model reads when it calls `inspect` or `exec` on the demo. */
async function askCompact(name: string, args: unknown): Promise<string> {
  const app = createApp(demoConfig(), { log: SILENT });
  try {
    const { front } = app.open({ profile: 'default', downstream: { key: 'docs', notify: () => undefined } });
    const params = { name, arguments: args };
    const result = (await front.request(
      { method: 'tools/call', params },
      { signal: AbortSignal.timeout(PATIENCE) },
    )) as {
      content: { text: string }[];
    };
    return result.content
      .map((block) => block.text)
      .join('')
      .replace(/\n$/, '');
  } finally {
    await app.stop();
  }
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
      const file = /scripts\/[\w/-]+\.mjs/.exec(SCRIPTS[name] ?? '')?.[0];
      const own = name === 'start' ? [] : [...rest.matchAll(/--([a-z]+)/g)].map(([, option]) => option);
      for (const option of own) expect(text(file ?? 'package.json'), line).toContain(`${option}: {`);
    }
  });

  test('has links that lead somewhere', () => {
    const wrong = document.links.filter((link) => {
      if (/^https:\/\//.test(link) || GITHUB_PAGES.includes(link)) return false;
      const [path = '', anchor] = link.split('#');
      const file = path === '' ? document.file : path;
      if (!existsSync(join(ROOT, dirname(document.file), file))) return true;
      return anchor !== undefined && !documentOf(file).headings.some((heading) => anchorOf(heading.text) === anchor);
    });
    expect(wrong).toEqual([]);
  });

  test('names only source files and folders that exist', () => {
    const paths = document.spans.filter((span) => /^(?:src|scripts|tests|\.github|\.ci)\/[\w./-]*$/.test(span));
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test.each(BANNED)('has no $what', ({ found }) => {
    expect(document.text.match(found)?.[0]).toBeUndefined();
  });
});

describe('the two READMEs', () => {
  test('have the same headings, level by level', () => {
    expect(CHINESE.headings.map(({ level }) => level)).toEqual(ENGLISH.headings.map(({ level }) => level));
    expect(ENGLISH.headings.length).toBeGreaterThan(10);
  });

  test('have the same code blocks, byte by byte', () => {
    const plain = ({ blocks }: Document) => blocks.map(({ language, text: code }) => ({ language, code }));
    expect(plain(CHINESE)).toEqual(plain(ENGLISH));
    expect(ENGLISH.blocks.length).toBeGreaterThan(10);
  });

  test('name the same things in code', () => {
    const sorted = ({ spans }: Document) => [...new Set(spans)].sort();
    expect(sorted(CHINESE)).toEqual(sorted(ENGLISH));
  });

  test('have the same exit codes as the program', () => {
    const codes = [...new Set([0, 130, ...Object.values(EXIT_CODES)])].sort((a, b) => a - b);
    for (const { tables } of [ENGLISH, CHINESE]) {
      const listed = tables.find((rows) => rows[0]?.[0] === '0');
      expect(listed?.map(([code]) => Number(code))).toEqual(codes);
    }
  });
});

describe('what the README says of the config', () => {
  test('every variable and every key that it names exists', () => {
    const source = readdirSync(join(ROOT, 'src/config')).map((file) => text(join('src/config', file)));
    const variables = ENGLISH.spans.filter((span) => /^MCPX_[A-Z_]+$/.test(span));
    expect(variables.length).toBeGreaterThan(5);
    expect(variables.filter((name) => !source.some((code) => code.includes(`'${name}'`)))).toEqual([]);
    const keys = ENGLISH.spans.filter((span) => Object.hasOwn(DEFAULTS, span.replace(/\..*$/, '')));
    expect(keys.length).toBeGreaterThan(5);
    const lookUp = (key: string) => key.split('.').reduce<unknown>((value, part) => Object(value)[part], DEFAULTS);
    expect(keys.filter((key) => lookUp(key) === undefined)).toEqual([]);
  });

  const kinds = ENGLISH.tables.find((rows) => rows[0]?.[0] === '`stdio`') ?? [];
  test('it lists every type of server', () => {
    const listed = kinds.map(([type = '']) => type.replaceAll('`', ''));
    const { values } = SERVER.type as Extract<Field, { kind: 'enum' }>;
    expect([...listed, 'auto'].sort()).toEqual([...values].sort());
  });

  test('a setting that nothing reads is listed without effect', () => {
    const outside = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('config'))
      .map((file) => text(join('src', file)).replace(/\/\*[\s\S]*?\*\//g, ''));
    const isRead = (key: string) => outside.some((code) => new RegExp(`\\b${key.replace(/^.*\./, '')}\\b`).test(code));
    const keys = Object.entries(DEFAULTS).flatMap(([section, value]) =>
      typeof value === 'object' ? Object.keys(value).map((name) => `${section}.${name}`) : [section],
    );
    const listed = withoutEffect();
    const covered = (key: string) => listed.includes(key) || listed.includes(key.replace(/\..*$/, ''));
    expect(keys.filter((key) => !isRead(key) && !covered(key))).toEqual([]);
  });

  const shapes = ENGLISH.tables.find((rows) => rows[0]?.[0] === '`mcpServers`') ?? [];
  test.each(shapes.map(([key = '']) => key.replaceAll('`', '')))('servers under "%s" are found', (key) => {
    const servers = { one: { command: 'one' } };
    const { profiles, warnings } = load(
      JSON.stringify({ [key]: key === 'schemas' ? { a: { mcpServers: servers } } : servers }),
    );
    expect(warnings).toEqual([]);
    expect(profiles.flatMap((profile) => profile.servers).map(({ name }) => name)).toEqual(['one']);
  });
});

describe('what the README shows', () => {
  const sessions = ENGLISH.blocks.filter(({ language }) => language === 'console').flatMap(sessionsOf);

  test.each(sessions.filter(({ line }) => !line.startsWith('mcpx demo')))(
    '$line prints what is shown',
    async (shown) => {
      expect((await typeLine(shown.line)).text).toBe(shown.output);
    },
  );

  test.each(sessions.filter(({ line }) => line.startsWith('mcpx demo')))(
    '$line prints every line shown',
    async (shown) => {
      const { text: printed, code } = await typeLine(`${shown.line} --port 0`, 'Ctrl-C');
      const lines = printed.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:3095').split('\n');
      expect(code).toBe(0);
      expect(lines).toEqual(expect.arrayContaining(shown.output.split('\n').filter((line) => line !== '…')));
    },
  );

  const calls = ENGLISH.blocks.filter((block) => /^(?:inspect|exec) \{/.test(block.text));

  test.each(calls)('the call in line $line is answered as shown', async ({ text: shown }) => {
    const [, name = '', args = '', answer] = /^(\w+) (\{.*\})\n\n([\s\S]*)$/.exec(shown) ?? [];
    expect(await askCompact(name, JSON.parse(args))).toBe(answer);
  });

  test('it shows a session in a terminal, a call and configs', () => {
    const configs = ENGLISH.blocks.filter(({ language }) => language === 'jsonc');
    expect([sessions.length > 2, calls.length > 0, configs.length > 2]).toEqual([true, true, true]);
  });

  test.each(ENGLISH.blocks.filter(({ language }) => language === 'jsonc'))(
    'the config in line $line loads without a warning',
    ({ text: written }) => {
      const { profiles, warnings } = load(written);
      expect(warnings).toEqual([]);
      expect(profiles.flatMap(({ servers }) => servers).length).toBeGreaterThan(0);
    },
  );

  test('the module of local tools loads, and its tools answer', async () => {
    const [example, ...others] = ENGLISH.blocks.filter(({ language }) => language === 'js');
    expect(others).toEqual([]);
    const file = join(folder, 'notes.mjs');
    writeFileSync(file, example?.text ?? '');
    const { tools } = readModule({ ...(await import(/* @vite-ignore */ pathToFileURL(file).href)) }, file);
    const tool = tools.get('add_note');
    if (tool === undefined) throw new Error('the example has no tool "add_note"');
    const context = { signal: AbortSignal.timeout(PATIENCE), progress: () => undefined };
    const answers = [await runTool(tool, { text: 'milk' }, context), await runTool(tool, { text: 'tea' }, context)];
    expect(answers).toEqual([
      { content: [{ type: 'text', text: 'note 1: milk' }] },
      { content: [{ type: 'text', text: 'note 2: tea' }] },
    ]);
  });

  test('the snippets for clients are JSON that starts mcpx', () => {
    const snippets = ENGLISH.blocks.filter(({ language }) => language === 'json');
    expect(snippets.length).toBeGreaterThan(1);
    for (const { text: written } of snippets) {
      const { mcpServers, servers, mcp } = JSON.parse(written);
      const { command, args = [] } = (mcpServers ?? servers ?? mcp).mcpx;
      expect([command, args].flat()).toEqual([expect.stringMatching(/^\/.*mcpx$/), 'serve']);
    }
  });
});

test('mcpx.schema.json is what the program would write', () => {
  expect(JSON.parse(text('mcpx.schema.json'))).toEqual(JSON.parse(JSON.stringify(jsonSchema())));
});

test('ARCHITECTURE.md has a paragraph on every folder of the source', () => {
  const { headings } = documentOf('ARCHITECTURE.md');
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const described = headings.map((heading) => /^`src\/(\w+)\/`/.exec(heading.text)?.[1]);
  expect(folders.map(({ name }) => name).filter((name) => !described.includes(name))).toEqual([]);
});

test('ARCHITECTURE.md names files that are in the folder it speaks of', () => {
  const sections = text('ARCHITECTURE.md').split(/^#+ /m);
  const wrong = sections.flatMap((section) => {
    const home = /^`((?:src|scripts)\/(?:\w+\/)?)`/.exec(section)?.[1];
    const names = [...section.matchAll(/`([\w-]+\.(?:ts|mjs))`/g)].map(([, name = '']) => name);
    if (home === undefined) return names;
    return names.filter((name) => !existsSync(join(ROOT, home, name))).map((name) => home + name);
  });
  expect(wrong).toEqual([]);
});

test('every command that a message or an example in the source names exists', () => {
  const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.ts$/.test(file),
  );
  const named = files.flatMap((file) => {
    const code = text(join('src', file)).replace(/\/\*[\s\S]*?\*\//g, '');
    const commands = [
      ...code.matchAll(/hint[^\n]*?['"`](mcpx [a-z]+(?: [a-z]+)?)\b|['"`](mcpx [a-z]+ --?[a-z][^'"`]*)/g),
    ];
    return commands.map(([, hint, example]) => ({ file, line: (hint ?? example ?? '').replace(/ \$\{.*$/s, '') }));
  });
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(({ line }) => faultOf(line) !== undefined)).toEqual([]);
});
