/** The size report of the bundle, and its characters. */
import { describe, expect, it } from 'vitest';
import { inAscii, packageOf, SIZE_LIMIT, sizeReport, sizesByPackage } from '../../../scripts/release/bundle.mjs';

describe('the size report', () => {
  const part = (bytes: number) => ({ bytesInOutput: bytes });
  const metafile = {
    outputs: {
      'app.js': {
        inputs: { 'src/main.ts': part(10), 'node_modules/ajv/a.js': part(30), 'node_modules/ajv/b.js': part(5) },
      },
    },
  };

  it.each([
    ['src/main.ts', 'mcpx'],
    ['mcpx.schema.json', 'mcpx'],
    ['node_modules/ajv/lib/ajv.js', 'ajv'],
    ['node_modules/@toon-format/toon/index.js', '@toon-format/toon'],
    ['node_modules/a/node_modules/@b/c/d.js', '@b/c'],
  ])('counts %s for %s', (path, name) => {
    expect(packageOf(path)).toBe(name);
  });

  it('adds up by package, largest first', () => {
    expect(sizesByPackage(metafile)).toEqual([
      ['ajv', 35],
      ['mcpx', 10],
    ]);
  });

  it('fails above the limit and names the largest', () => {
    expect(sizeReport(metafile, SIZE_LIMIT)).toContain('1.3 MB of at most 1.3 MB');
    expect(() => sizeReport(metafile, SIZE_LIMIT + 1)).toThrow(/has 1250001 bytes, the limit is 1250000: ajv/);
  });
});

describe('code in ASCII', () => {
  it.each([
    ['/^(?:yes|是)$/i.test(text)', '是'],
    ['/[“‘「][^”’」]+/u.exec(text)[0]', '说“你好”'],
    ['/[\\d, …]+/.exec(text)[0]', '[1, 2 … 9]'],
    ['/[😀-😂]+/u.exec(text)[0]', 'a😁b'],
    ['text.split("并")', '甲并乙'],
  ])('%s has the same value', (code, text) => {
    const ascii = inAscii(code);
    expect(ascii).toMatch(/^[\0-\x7f]+$/);
    const evaluated = (source: string) => new Function('text', `return ${source}`)(text);
    expect(evaluated(ascii)).toEqual(evaluated(code));
  });
});
