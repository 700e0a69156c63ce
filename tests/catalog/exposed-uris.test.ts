/** Exposed URIs and pages: round trips, forgeries, templates. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exposeTemplate, exposeUri, fitsTemplate, isWithin, locateUri } from '../../src/catalog/exposed-uris.ts';
import { pageOf } from '../../src/catalog/pagination.ts';

describe('URIs', () => {
  test('whatever a server calls its resource, the wrapped URI leads back to it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ unit: 'grapheme' }), (server, uri) => {
        expect(locateUri(exposeUri({ server, uri }, 'wrap'))).toEqual({ server, uri });
      }),
    );
  });

  test('a page of an app keeps its scheme', () => {
    const exposed = exposeUri({ server: 's', uri: 'ui://app/page' }, 'wrap');
    expect(exposed).toMatch(/^ui:\/\//);
    expect(locateUri(exposed)).toEqual({ server: 's', uri: 'ui://app/page' });
    const template = exposeTemplate('s', 'ui://app/{page}', 'wrap');
    expect(template).toMatch(/^ui:\/\//);
    expect(locateUri(template.replace('{page}', 'x'))).toEqual({ server: 's', uri: 'ui://app/x' });
  });

  test('kept URIs are kept', () => {
    expect(exposeUri({ server: 's', uri: 'file:///a' }, 'keep')).toBe('file:///a');
    expect(exposeTemplate('s', 'file:///{path}', 'keep')).toBe('file:///{path}');
  });

  test.each([
    'file:///a',
    'proxy://resource/',
    'proxy://resource/!!!',
    'proxy://resource/bnVsbA',
    `proxy://resource/${Buffer.from('{"server":1,"uri":"x"}').toString('base64url')}`,
    `proxy://resource/${Buffer.from('{"server":"s"}').toString('base64url')}`,
    'proxy://template/abc',
    'proxy://template/!!/x',
    'ui://app/page',
    '',
  ])('%j is not ours', (uri) => {
    expect(locateUri(uri)).toBeUndefined();
  });

  test('an expanded template leads to the expanded URI', () => {
    const template = exposeTemplate('s', 'file:///{dir}/{name}', 'wrap');
    const expanded = template.replace('{dir}', 'a').replace('{name}', 'b.txt');
    expect(locateUri(expanded)).toEqual({ server: 's', uri: 'file:///a/b.txt' });
  });

  test.each([
    ['file:///{path}', 'file:///a/b', true],
    ['file:///{path}', 'http://a', false],
    ['x://{a}/mid/{b}.txt', 'x://1/mid/2.txt', true],
    ['x://{a}/mid/{b}.txt', 'x://1/2.txt', false],
    ['x://plain', 'x://plain', true],
    ['x://plain', 'x://plainer', false],
    ['{+all}', 'anything', true],
    ['a{b}a', 'a', false],
    ['a{b}a', 'aa', true],
  ])('%s and %s: %j', (template, uri, expected) => {
    expect(fitsTemplate(template, uri)).toBe(expected);
  });

  test.each([
    ['file:///{path}', 'file:///a', true],
    ['file:///{path}', 'file:///a/b', false],
    ['file:///{path}', 'file:///a%2Fb', true],
    ['file:///{+path}', 'file:///a/b', true],
    ['file://{/path*}', 'file:///a/b', true],
    ['x://{a}/mid/{b}.txt', 'x://1/mid/2.txt', true],
    ['x://{a}/mid/{b}.txt', 'x://1/0/mid/2.txt', false],
    ['x://{a}/mid/{b}.txt', 'x://1/mid/2/3.txt', false],
    ['x://plain', 'x://plain', true],
    ['a{b}a', 'a', false],
  ])('strictly, %s and %s: %j', (template, uri, expected) => {
    expect(fitsTemplate(template, uri, 'strictly')).toBe(expected);
  });

  test.each([
    ['file:///dir/a', 'file:///dir', true],
    ['file:///dir/a/b', 'file:///dir/', true],
    ['x://page#part', 'x://page', true],
    ['x://page?part', 'x://page', true],
    ['file:///directory', 'file:///dir', false],
    ['file:///dir', 'file:///dir', false],
    ['file:///dir', 'file:///dir/a', false],
  ])('whether %s is within %s: %j', (uri, whole, expected) => {
    expect(isWithin(uri, whole)).toBe(expected);
  });

  test('a template of many variables does not stall', () => {
    expect(fitsTemplate(`${'{a}x'.repeat(2000)}y`, 'x'.repeat(20_000))).toBe(false);
    expect(fitsTemplate(`${'{a}x'.repeat(2000)}{b}`, `${'x'.repeat(20_000)}/`, 'strictly')).toBe(false);
  });
});

describe('pages', () => {
  const items = Array.from({ length: 2500 }, (_, index) => index);

  test('following the cursor gives every item once, whatever the limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3000 }), fc.nat(2500), (limit, count) => {
        const all: unknown[] = [];
        let cursor: unknown;
        do {
          const page = pageOf(items.slice(0, count), 'items', { limit, ...(cursor !== undefined && { cursor }) });
          all.push(...(page.items as unknown[]));
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        expect(all).toEqual(items.slice(0, count));
      }),
      { numRuns: 30 },
    );
  });

  test('without a limit a page has at most a thousand', () => {
    expect((pageOf(items, 'items', {}).items as unknown[]).length).toBe(1000);
    expect(pageOf([1], 'items', { limit: 'x' })).toEqual({ items: [1] });
  });

  const forged = (offset: number, of?: number) => Buffer.from(JSON.stringify({ offset, of })).toString('base64url');
  test.each([
    ...['', 'garbage', 'e30', forged(-1, 5), forged(5), forged(5, 5), forged(2501, 2500), forged(1.5, 5), 5, null],
  ])('the cursor %j is refused', (cursor) => {
    expect(() => pageOf(items, 'items', { cursor })).toThrow(expect.objectContaining({ code: -32602 }));
  });

  test('the end of a list that has become shorter is an empty page', () => {
    const { nextCursor } = pageOf(items, 'items', {});
    expect(pageOf(items.slice(0, 900), 'items', { cursor: nextCursor })).toEqual({ items: [] });
  });
});
