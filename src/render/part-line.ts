/** One parameter of a tool, or a part of it, on a line of bounded length, for error messages. */
import { schemaAt } from './schema-path.ts';
import { isSchema } from './schema-refs.ts';
import { descriptionOf, TOP, type TypeStyle, writeType } from './schema-type.ts';
import { commentText, notesOf } from './type-comments.ts';
import { startWriting } from './type-writing.ts';
import type { RenderableTool } from './typescript.ts';

/** Maximum characters of the type, and code points of the description. */
const MAX_TYPE = 200;
const MAX_DESCRIPTION = 120;
/** The forms of the type, from the longest to the shortest. */
const FORMS: TypeStyle[] = [4, 2, 1, 0].map((maxDepth) => ({ layout: 'line', maxDepth, maxEnum: 12 }));

/** Returns the type and the comment of the part at this path; undefined if the tool has no such parameter. */
export function partLine(tool: Pick<RenderableTool, 'inputSchema'>, path: string): string | undefined {
  const found = schemaAt({ inputSchema: tool.inputSchema }, path);
  if (found === undefined) return undefined;
  const { schema, root } = found;
  const types = FORMS.map((style) => writeType(schema, startWriting(root, style, new Set()), TOP).text);
  const type = types.find((text) => text.length <= MAX_TYPE) ?? 'object';
  const notes = isSchema(schema) ? notesOf(schema) : [];
  const comment = commentText(descriptionOf(schema, { root, names: new Map() }), notes, MAX_DESCRIPTION);
  return comment === '' ? type : `${type} // ${comment}`;
}
