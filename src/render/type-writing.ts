/** Writes the type of a whole schema: the type itself, and the declarations of the names that it uses. */
import { namedSchemas, type Schema } from './schema-refs.ts';
import { descriptionOf, TOP, type TypeStyle, type Writing, writeType } from './schema-type.ts';
import { blockComment, commentText, withComment } from './type-comments.ts';

export const FULL: TypeStyle = { layout: 'block', maxDepth: 24, maxEnum: 500 };
/** Maximum number of schemas written in one rendering, by layout. */
const BUDGET = { block: 20_000, line: 2_000 };
/** Names that a declaration must not shadow. */
const RESERVED = ['Record'];

export function newNames(): Set<string> {
  return new Set(RESERVED);
}

/** Returns a writing for schemas of the document `root`; `taken` are the names that it must not use. */
export function startWriting(root: unknown, style: TypeStyle, taken: Set<string>): Writing {
  const refs = new Map<Schema, string>();
  const names = style.layout === 'line' ? new Map<Schema, string>() : namedSchemas(root, taken, refs);
  const state = { used: new Set<Schema>(), needed: new Set<Schema>(), open: new Set<Schema>(), optional: 0 };
  return { root, style, names, refs, ...state, folded: [], budget: BUDGET[style.layout] };
}

/** Returns `type Name = …` for every used name; rendering one may add further names. */
export function declarations(writing: Writing): string[] {
  const lines: string[] = [];
  for (const schema of writing.used) {
    const outer = writing.optional;
    writing.optional = writing.needed.has(schema) ? 0 : 1;
    const ref = writing.refs.get(schema) ?? '';
    const spot = { ...TOP, path: ref.startsWith('#/') ? ref.slice(2).split('/') : [] };
    const type = writeType(schema, writing, spot, schema);
    writing.optional = outer;
    const comment = commentText(descriptionOf(schema, writing), type.notes, writing.style.maxDescription);
    lines.push(`type ${writing.names.get(schema)} = ${withComment(type.text, comment)}`);
  }
  return lines;
}

/** Returns the type of a schema with its own description as a comment. */
export function topType(schema: unknown, writing: Writing): string {
  const { text, notes } = writeType(schema, writing, TOP);
  if (writing.style.layout === 'line') return text;
  const comment = commentText(descriptionOf(schema, writing), notes, writing.style.maxDescription);
  if (comment === '') return text;
  return text.includes('\n') ? withComment(text, comment) : `${text} ${blockComment(comment)}`;
}
