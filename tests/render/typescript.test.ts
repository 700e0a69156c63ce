/** Schemas as TypeScript: fixture by fixture, and with the TypeScript compiler as the judge. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  firstSentence,
  hasNestedArguments,
  parameterList,
  type RenderableTool,
  renderTool,
  renderType,
} from '../../src/render/typescript.ts';
import { processorTime } from '../setup/processor.ts';
import { brokenSchema, jsonSchema } from './arbitrary.ts';

const FIXTURES = resolve('tests/fixtures/schemas');
const names = readdirSync(FIXTURES)
  .filter((file) => file.endsWith('.json'))
  .map((file) => file.slice(0, -'.json'.length));

function fixture(name: string): RenderableTool {
  return JSON.parse(readFileSync(join(FIXTURES, `${name}.json`), 'utf8'));
}

/** Compiles every text as the body of a namespace of its own; returns what the compiler says. */
function compile(bodies: string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-types-'));
  try {
    const source = bodies.map((body, index) => `declare namespace C${index} {\n${body}\n}`).join('\n');
    writeFileSync(join(folder, 'cases.ts'), `${source}\nexport {};\n`);
    const flags = [
      '--noEmit',
      '--skipLibCheck',
      '--strict',
      '--noImplicitAny',
      'false',
      '--target',
      'es2022',
      '--types',
      '',
    ];
    execFileSync(process.execPath, [resolve('node_modules/typescript/bin/tsc'), ...flags, 'cases.ts'], {
      cwd: folder,
      stdio: 'pipe',
    });
    return '';
  } catch (error) {
    return String((error as { stdout?: Buffer }).stdout ?? error);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The signature with its types as a declaration; the description is left out, since it is prose. */
function declaration(tool: RenderableTool, form: 'full' | 'short'): string {
  const { description: _description, ...bare } = tool;
  const text = renderTool({ ...bare, name: 'f', title: '' }, { form });
  if (text.startsWith('{')) return '';
  return form === 'full' ? `function ${text}` : `function ${text.replace(/^f\((?!\))/, 'f(args: ')}`;
}

test.each(names)('the schema "%s" reads as its fixture says', async (name) => {
  const tool = fixture(name);
  const text = [renderTool(tool, { form: 'full' }), renderTool(tool, { form: 'short' })].join('\n\n');
  await expect(`${text}\n`).toMatchFileSnapshot(join(FIXTURES, `${name}.txt`));
});

test('every fixture is valid TypeScript in both forms', () => {
  const bodies = names.map(fixture).flatMap((tool) => [declaration(tool, 'full'), declaration(tool, 'short')]);
  expect(bodies.filter((body) => body !== '').length).toBeGreaterThan(names.length);
  expect(compile(bodies)).toBe('');
});

test('any schema becomes valid TypeScript', () => {
  const schemas = fc.sample(jsonSchema, { numRuns: 1500, seed: 7 });
  const bodies = schemas.flatMap((schema) => [
    `type T = ${renderType(schema)}`,
    declaration({ name: 'f', inputSchema: schema, outputSchema: schema }, 'full'),
    declaration({ name: 'f', inputSchema: schema, outputSchema: schema }, 'short'),
  ]);
  expect(compile(bodies)).toBe('');
});

test('no schema makes rendering throw or say something else the second time', () => {
  fc.assert(
    fc.property(fc.oneof(jsonSchema, brokenSchema), fc.string({ unit: 'binary' }), (schema, description) => {
      const tool = { name: 'tool', description, inputSchema: schema, outputSchema: schema };
      for (const form of ['full', 'short'] as const) {
        expect(renderTool(tool, { form })).toBe(renderTool(structuredClone(tool), { form }));
      }
      expect(typeof parameterList(schema)).toBe('string');
      expect(typeof hasNestedArguments(schema)).toBe('boolean');
    }),
    { numRuns: 500 },
  );
});

test('a rendering is never longer than the JSON it stands for', () => {
  fc.assert(
    fc.property(jsonSchema, (inputSchema) => {
      const json = JSON.stringify({ name: 'tool', inputSchema });
      for (const form of ['full', 'short'] as const) {
        expect(renderTool({ name: 'tool', inputSchema }, { form }).length).toBeLessThanOrEqual(json.length);
      }
    }),
  );
});

test('the short form is one line, whatever the schema holds', () => {
  fc.assert(
    fc.property(jsonSchema, fc.string({ unit: 'binary' }), (inputSchema, description) => {
      expect(renderTool({ name: 'tool', description, inputSchema }, { form: 'short' })).not.toMatch(
        /[\n\r\u2028\u2029]/,
      );
    }),
  );
});

test('references that double at every step stay within bounds', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => [
      `D${index}`,
      { anyOf: [{ $ref: `#/$defs/D${index + 1}` }, { type: 'array', items: { $ref: `#/$defs/D${index + 1}` } }] },
    ]),
  );
  const schema = { type: 'object', properties: { a: { $ref: '#/$defs/D0' } }, $defs };
  const tool = { name: 'bomb', inputSchema: schema };
  const started = processorTime();
  for (const form of ['full', 'short'] as const) {
    expect(renderTool(tool, { form }).length).toBeLessThanOrEqual(JSON.stringify(tool).length);
  }
  expect(processorTime() - started).toBeLessThan(2000);
});

test('a schema deeper than any stack still gives the name', () => {
  let schema: unknown = { type: 'string' };
  for (let level = 0; level < 100_000; level += 1) schema = { type: 'array', items: schema };
  expect(renderTool({ name: 'abyss', inputSchema: schema }, { form: 'full' })).toBe('abyss');
  expect(renderType(schema)).toBe('unknown');
});

test('descriptions are cut where the options say so', () => {
  const tool = {
    name: 'cut',
    description: 'Does something remarkable with files. And more.',
    inputSchema: { type: 'object', properties: { path: { type: 'string', description: 'The path of the file 😀😀' } } },
  };
  expect(renderTool(tool, { form: 'short', maxDescription: 10 })).toBe('cut({ path?: string }) // Does some…');
  expect(renderTool(tool, { form: 'full', maxDescription: 10 })).toBe(
    'cut(args?: {\n  path?: string // The path…\n})\nDoes some…',
  );
});

const EFFECTS: [Record<string, unknown> | undefined, string][] = [
  [undefined, ''],
  [{ title: 'Act', openWorldHint: true }, ''],
  [{ readOnlyHint: true, idempotentHint: true }, '(read-only)'],
  [{ readOnlyHint: true, destructiveHint: true }, '(destructive)'],
  [{ readOnlyHint: false, destructiveHint: true }, '(destructive)'],
  [{ destructiveHint: false, idempotentHint: true }, '(not destructive, idempotent)'],
];

test.each(EFFECTS)('the annotations %j are said in words', (annotations, expected) => {
  const tool = { name: 'act', inputSchema: { type: 'object', properties: {} }, annotations };
  expect(renderTool(tool, { form: 'full' })).toBe(['act()', expected].join('\n').trim());
  expect(renderTool(tool, { form: 'short' })).toBe('act()');
});

const LISTS: [string, unknown, string][] = [
  ['required and optional ones', { properties: { path: {}, tail: {} }, required: ['path'] }, 'path, tail?'],
  ['none', { type: 'object' }, ''],
  ['no schema', undefined, ''],
  ['that nothing is told of them', { $schema: 'http://json-schema.org/draft-07/schema#' }, '…'],
  ['those behind a reference', { $ref: '#/$defs/A', $defs: { A: { properties: { a: {} }, required: ['a'] } } }, 'a'],
  ['those of all parts', { allOf: [{ properties: { a: {} }, required: ['a'] }, { properties: { b: {} } }] }, 'a, b?'],
  [
    'alternatives as optional',
    { anyOf: [{ properties: { a: {} }, required: ['a'] }, { properties: { b: {} } }] },
    'a?, b?',
  ],
];

test.each(LISTS)('the parameter list shows %s', (_title, schema, expected) => {
  expect(parameterList(schema)).toBe(expected);
});

test('a parameter list stops at twenty', () => {
  const properties = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`p${index}`, {}]));
  expect(parameterList({ properties }).split(', ')).toHaveLength(21);
  expect(parameterList({ properties })).toMatch(/…$/);
});

const NESTED: [string, unknown, boolean][] = [
  ['a plain value', { required: ['a'], properties: { a: { type: 'string' } } }, false],
  ['a list of strings', { required: ['a'], properties: { a: { type: 'array', items: { type: 'string' } } } }, false],
  ['an object', { required: ['a'], properties: { a: { properties: { b: {} } } } }, true],
  ['a list of objects', { required: ['a'], properties: { a: { items: { properties: { b: {} } } } } }, true],
  ['a record', { required: ['a'], properties: { a: { additionalProperties: { type: 'string' } } } }, true],
  [
    'an object behind a reference',
    { required: ['a'], properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { properties: { b: {} } } } },
    true,
  ],
  ['a reference in a circle', { required: ['a'], properties: { a: { $ref: '#/properties/a' } } }, false],
  ['an object that may be left out', { properties: { a: { properties: { b: {} } } } }, false],
];

test.each(NESTED)('nested arguments: %s', (_title, schema, expected) => {
  expect(hasNestedArguments(schema)).toBe(expected);
});

const SENTENCES: [string, string][] = [
  ['Read a file. Then stop.', 'Read a file.'],
  ['Read files, e.g. a.txt, from disk. More.', 'Read files, e.g. a.txt, from disk.'],
  ['Reads v1.2 of the API', 'Reads v1.2 of the API'],
  ['# Title\n\nText.', 'Title'],
  ['\n\n```js\ncode\n```\n\nText here.', 'code'],
  ['Retrieve a user\nError Responses:\n400: x', 'Retrieve a user'],
  ['Gets a thing from the\nserver. Then more.', 'Gets a thing from the server.'],
  ['读取文件。然后停止。', '读取文件。'],
  ['Usage:\n  1. Reads a file. Then stops.', 'Reads a file.'],
  ['🛡️ Guardrails:\n  1. Be careful.\n\n🎯 Purpose:\n  1. Links records. More.', 'Links records.'],
  ['Reads these kinds:\n\na and b', 'Reads these kinds:'],
  ['', ''],
];

test.each(SENTENCES)('the first sentence of %j', (text, expected) => {
  expect(firstSentence(text)).toBe(expected);
});

test('a title is shown where it says more than the name, in the full form', () => {
  const full = (tool: Partial<RenderableTool>) =>
    renderTool(
      { name: 'slack_post_message', inputSchema: { type: 'object', properties: {} }, ...tool },
      { form: 'full', titled: true },
    );
  const description = 'Sends a text.';
  expect(full({ description, title: 'Write to\n a channel' })).toBe(
    'slack_post_message()\ntitle: Write to a channel\nSends a text.',
  );
  expect(full({ description, annotations: { title: 'Write to a channel', readOnlyHint: true } })).toBe(
    'slack_post_message()\ntitle: Write to a channel\nSends a text.\n(read-only)',
  );
  for (const title of ['Slack: Post Message', 'post message', 'Sends a text', '', 7])
    expect(full({ description, title })).toBe('slack_post_message()\nSends a text.');
  expect(full({ title: 'Write to a channel' })).toBe('slack_post_message()\nWrite to a channel');
  expect(full({ annotations: { title: 'Write to a channel' } })).toBe('slack_post_message()\nWrite to a channel');
  const short = { name: 'a', description, title: 'Write to a channel', inputSchema: { type: 'object' } };
  expect(renderTool(short, { form: 'short' })).toBe('a() // Sends a text.');
  expect(renderTool(short, { form: 'full' })).not.toContain('title');
});
