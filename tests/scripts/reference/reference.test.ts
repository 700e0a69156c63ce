/** The settings in docs/configuration.md are those of the program, in both languages. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Field } from '../../../src/config/field-kinds.ts';
import { DOCUMENT, PROFILE, SERVER } from '../../../src/config/fields.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PAGES = ['docs/configuration.md', 'docs/zh-CN/configuration.md'];
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** Paths of all fields that hold a value. */
function leaves(fields: Readonly<Record<string, Field>>, path = ''): string[] {
  return Object.entries(fields).flatMap(([key, field]) =>
    field.kind === 'group' ? leaves(field.fields, `${path}${key}.`) : [`${path}${key}`],
  );
}

test.each(PAGES)('%s has a row for every key', (page) => {
  const text = read(page);
  const keys = [...leaves(DOCUMENT), ...leaves(SERVER), ...leaves(PROFILE)];
  expect(keys.length).toBeGreaterThan(90);
  expect(keys.filter((key) => !text.includes(`\n| \`${key}\` | `))).toEqual([]);
});

test('the Chinese page has Chinese texts only', () => {
  const rows =
    read('docs/zh-CN/configuration.md')
      .split('<!--')[1]
      ?.match(/^\| `.*$/gm) ?? [];
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.filter((row) => !/\p{Script=Han}/u.test(row))).toEqual([]);
});

test('no translation is left over from a text that has changed', () => {
  const translations: Record<string, string> = JSON.parse(read('scripts/reference/settings.zh-CN.json'));
  const texts = new Set<string>();
  const collect = (fields: Readonly<Record<string, Field>>): void => {
    for (const field of Object.values(fields)) {
      texts.add(field.doc ?? '');
      if (field.kind === 'group') collect(field.fields);
      if (field.kind === 'list' && field.of.kind === 'group') collect(field.of.fields);
    }
  };
  for (const fields of [DOCUMENT, SERVER, PROFILE]) collect(fields);
  expect(Object.keys(translations).filter((text) => !texts.has(text))).toEqual([]);
});
