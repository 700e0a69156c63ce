/** The JSON Schema: complete, true to the defaults, fresh on disk, and of one mind with the reader. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import { DEFAULTS, SERVER_DEFAULTS } from '../../src/config/config.ts';
import type { Field, Fields } from '../../src/config/field-kinds.ts';
import { DOCUMENT, SERVER, SETTINGS } from '../../src/config/fields.ts';
import { isRecord, type JsonRecord } from '../../src/config/json-data.ts';
import { jsonSchema, schemaText } from '../../src/config/json-schema.ts';
import { STARTER } from '../../src/config/starter.ts';
import { parseDuration, parseSize } from '../../src/config/units.ts';
import { createHome, failure } from './world.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SHAPES = join(ROOT, 'tests', 'fixtures', 'config', 'shapes');
const accepts = new Ajv({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  allErrors: true,
  ownProperties: true,
}).compile(jsonSchema());

function fixture(name: string): JsonRecord {
  return parse(readFileSync(join(SHAPES, name), 'utf8'));
}

test('mcpx.schema.json is fresh (npm run schema)', () => {
  expect(readFileSync(join(ROOT, 'mcpx.schema.json'), 'utf8')).toBe(schemaText());
});

test('npm run schema --check agrees', () => {
  expect(() =>
    execFileSync(process.execPath, [join(ROOT, 'scripts', 'schema.mjs'), '--check'], { stdio: 'pipe' }),
  ).not.toThrow();
});

describe('the table of fields', () => {
  /** Paths of all fields that hold a value. */
  function leaves(fields: Fields, path = ''): string[] {
    return Object.entries(fields).flatMap(([key, field]) =>
      field.kind === 'group' ? leaves(field.fields, `${path}${key}.`) : [`${path}${key}`],
    );
  }

  function leavesOf(value: JsonRecord, path = ''): string[] {
    return Object.entries(value).flatMap(([key, item]) =>
      isRecord(item) ? leavesOf(item, `${path}${key}.`) : [`${path}${key}`],
    );
  }

  test('has a row for every setting that has a default, and no other', () => {
    expect(leaves(SETTINGS).sort()).toEqual(leavesOf({ ...DEFAULTS }).sort());
  });

  test('has a row for every default of a server', () => {
    for (const key of leavesOf({ ...SERVER_DEFAULTS })) expect(leaves(SERVER)).toContain(key);
  });

  test('has a sentence for every key', () => {
    const check = (fields: Fields): void => {
      for (const [key, field] of Object.entries(fields)) {
        expect(field.doc, key).toMatch(/^[A-Z"].*\.$/);
        if (field.kind === 'group') check(field.fields);
      }
    };
    check(DOCUMENT);
    check(SERVER);
  });
});

test('every default in the schema is the real one, as one would write it', () => {
  const { document } = jsonSchema().definitions as Record<string, JsonRecord>;
  const settings = document?.properties as Record<string, JsonRecord>;
  const check = (schema: JsonRecord, field: Field, expected: unknown): void => {
    if (field.kind === 'group') {
      const properties = schema.properties as Record<string, JsonRecord>;
      for (const [key, inner] of Object.entries(field.fields))
        check(properties[key] ?? {}, inner, (expected as JsonRecord)[key]);
      return;
    }
    const shown = schema.default;
    const value = field.kind === 'duration' ? parseDuration(shown) : field.kind === 'size' ? parseSize(shown) : shown;
    expect(value).toEqual(expected);
  };
  for (const [key, field] of Object.entries(SETTINGS))
    check(settings[key] ?? {}, field, { ...DEFAULTS }[key as keyof typeof DEFAULTS]);
  expect(settings.http).toMatchObject({ properties: { sessionIdle: { default: '30m' }, maxBody: { default: '4mb' } } });
});

describe('an editor accepts', () => {
  test('the canonical example, comments aside', () => {
    expect(accepts(fixture('canonical.jsonc')), JSON.stringify(accepts.errors)).toBe(true);
  });

  test('the default config of a first run', () => {
    expect(accepts(parse(STARTER))).toBe(true);
  });

  test.each<[string, object]>([
    [
      'notes everywhere',
      { 'x-a': 1, _b: 2, '// c': 3, http: { _n: 1 }, mcpServers: { '//': 'x', a: { command: 'x', 'x-y': 1 } } },
    ],
    [
      'numbers for durations and sizes',
      { http: { sessionIdle: 1000, maxBody: 1 }, mcpServers: { a: { command: 'x', timeout: 5 } } },
    ],
    ['one env file', { mcpServers: { a: { command: 'x', envFile: '.env' } } }],
    ['a switch', { mcpServers: { a: { disabled: true } } }],
    [
      'null where it means nothing',
      { http: { rate: null }, log: { file: null }, mcpServers: { a: { command: 'x', env: { A: null } } } },
    ],
    ['a list of variables', { connect: { inheritEnv: ['PATH'] } }],
    ['a builtin', { mcpServers: { time: { type: 'builtin' } } }],
  ])('%s, and so does the reader, silently', (_what, document) => {
    expect(accepts(document), JSON.stringify(accepts.errors)).toBe(true);
    const home = createHome();
    home.load({ files: [home.write('config.json', document)], strict: true });
  });
});

describe('an editor underlines', () => {
  test.each<[string, object]>([
    ['an unknown key', { htpp: {} }],
    ['an unknown key of a server', { mcpServers: { a: { command: 'x', tiemout: 1 } } }],
    ['a server without a target', { mcpServers: { a: { args: [] } } }],
    ['a wrong word', { lock: 'maybe' }],
    ['a wrong duration', { health: { interval: 'often' } }],
    ['a wrong size', { limits: { resultStore: '1 tb' } }],
    ['a wrong number', { http: { port: -1 } }],
    ['null where a value is needed', { http: { host: null } }],
    ['a token without its secret', { http: { auth: { tokens: [{ name: 'x' }] } } }],
  ])('%s, and so does the strict reader', (_what, document) => {
    expect(accepts(document)).toBe(false);
    const home = createHome();
    const error = failure(() => home.load({ files: [home.write('config.json', document)], strict: true }));
    expect(error.code).toBe('config');
  });
});

/** Fixtures of other clients' files, as a person would open them in an editor. */
const shapes = readdirSync(SHAPES).filter((name) => !name.includes('.expected.'));

describe('a file that another client wrote', () => {
  test.each(shapes.filter((name) => name !== 'warnings.jsonc'))('%s: an editor underlines nothing', (name) => {
    expect(accepts(fixture(name)), JSON.stringify(accepts.errors)).toBe(true);
  });

  test('an editor underlines exactly the unknown keys that mcpx warns about', () => {
    accepts(fixture('warnings.jsonc'));
    const unknown = (accepts.errors ?? []).filter(({ keyword }) => keyword === 'additionalProperties');
    expect(unknown.map(({ params }) => params.additionalProperty).sort()).toEqual(['htpp', 'prot', 'tiemout']);
  });
});

test('what config show prints is canonical for every accepted shape', async () => {
  const { describeConfig } = await import('../../src/config/show.ts');
  for (const name of readdirSync(SHAPES).filter((file) => !file.includes('.expected.'))) {
    const home = createHome();
    const config = home.load({ files: [home.write(name, readFileSync(join(SHAPES, name), 'utf8'))] });
    expect(accepts(describeConfig(config)), `${name}: ${JSON.stringify(accepts.errors)}`).toBe(true);
  }
});
