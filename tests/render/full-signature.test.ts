/** The complete form of a tool with a bound: long parts are folded, and a path opens them. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateTokens } from '../../src/render/token-estimate.ts';
import { partSignature, renderTool } from '../../src/render/typescript.ts';
import { jsonSchema } from './arbitrary.ts';

const more = (path: string) => `more: ${path}`;
const text = (words: number) => Array.from({ length: words }, (_, index) => `word${index}`).join(' ');
const string = (description: string) => ({ type: 'string', description });
const object = (properties: Record<string, unknown>, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
});
const full = (tool: object) => renderTool({ name: 't', ...tool }, { form: 'full', more });

describe('the full signature of a tool', () => {
  const guests = object({ email: string('Address'), answer: object({ at: string(text(20)), note: string(text(60)) }) });
  const rooms = Array.from({ length: 12 }, (_, index) => [`room${index}`, object({ size: string(text(30)) })]);
  const long = {
    inputSchema: object(
      {
        title: string('Title'),
        place: object({ id: string('Id') }, ['id']),
        guests: { type: 'array', items: guests },
        rooms: object(Object.fromEntries(rooms)),
      },
      ['title', 'place'],
    ),
  };

  it('is complete up to about 600 tokens', () => {
    const { rooms: _, ...some } = long.inputSchema.properties;
    const written = full({ inputSchema: object(some, ['title', 'place']) });
    expect(written).toContain('note?: string');
    expect(written).not.toContain('folded');
  });

  it('has the type of a small result, also of a tool whose JSON is short', () => {
    const outputSchema = object({ lines: { type: 'array', items: { type: 'string' } }, count: { type: 'integer' } });
    const inputSchema = { type: 'object', properties: { path: { type: 'string' } } };
    expect(full({ description: 'Read lines.', inputSchema, outputSchema })).toBe(
      't(args?: { path?: string }): { lines?: string[]; count?: number }\nRead lines.',
    );
  });

  it('folds the largest optional objects of a longer one, and says how they are opened', () => {
    const written = full(long);
    expect(written).toContain('rooms?: object // folded');
    expect(written).toMatch(/place: \{\n +id: string/);
    expect(written).toContain('note?: string');
    expect(written.split('\n').at(-1)).toBe('more: #/rooms');
    expect(estimateTokens(written)).toBeLessThan(600);
  });

  it('folds a type that has a name only where no required parameter has it', () => {
    const $defs = {
      Big: object({ a: string(text(300)), next: { $ref: '#/$defs/Big' } }),
      Other: object({ b: string(text(500)), next: { $ref: '#/$defs/Other' } }),
    };
    const inputSchema = {
      ...object({ must: { $ref: '#/$defs/Big' }, may: { $ref: '#/$defs/Other' } }, ['must']),
      $defs,
    };
    const written = full({ inputSchema });
    expect(written).toContain('must: Big');
    expect(written).toContain('type Big = {');
    expect(written).toContain('may?: object // folded');
    expect(written).not.toContain('Other');
  });

  it('cuts long descriptions of optional parameters, never of required ones', () => {
    const inputSchema = object({ must: string(`must ${text(60)}`), may: string(`may ${text(200)}`) }, ['must']);
    const written = full({ inputSchema });
    expect(written).toContain('must word0');
    expect(written).toContain('word59\n');
    expect(written).toMatch(/may\?: string .*…/);
    expect(written).toContain('more: #/may');
    expect(partSignature({ name: 't', inputSchema }, 'may')?.text).toContain('word199');
  });

  it('leaves out descriptions that the tool description has', () => {
    const described = 'The page from which reading begins';
    const tool = {
      description: `Reads.\n\nArgs:\n  page: ${described}`,
      inputSchema: object({ page: string(described) }),
    };
    expect(full(tool).split(described)).toHaveLength(2);
  });

  it('shortens the type of a result before it is larger than the JSON of the tool', () => {
    const row = object(
      Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`field${index}`, string(text(9))])),
    );
    const outputSchema = object({ rows: { type: 'array', items: row }, count: { type: 'number' } }, ['rows', 'count']);
    const inputSchema = object({ table: string('Name of the table, with its schema where it is not the usual one') }, [
      'table',
    ]);
    const written = full({ description: 'Read all rows of a table.', inputSchema, outputSchema });
    expect(written).toContain('}): { rows: object[]; count: number }');
    expect(written).toContain('more: #/outputSchema');
    expect(partSignature({ name: 't', inputSchema, outputSchema }, 'outputSchema')?.text).toContain('field29');
    expect(full({ inputSchema: {}, outputSchema })).not.toContain('field');
  });

  it('never takes more characters than the JSON of the tool', () => {
    fc.assert(
      fc.property(jsonSchema, jsonSchema, (inputSchema, outputSchema) => {
        const tool = { name: 'tool', inputSchema, outputSchema };
        expect(full(tool).length).toBeLessThanOrEqual(JSON.stringify(tool).length);
      }),
    );
  });
});
