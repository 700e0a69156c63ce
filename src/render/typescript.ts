/** Renders tools as TypeScript signatures, in a complete form and in a form of one line, for `inspect`. */
import { firstSentence } from './first-sentence.ts';
import { argumentsType, fullSignature } from './full-signature.ts';
import { isSchema } from './schema-refs.ts';
import type { TypeStyle } from './schema-type.ts';
import { TOP, writeType } from './schema-type.ts';
import { clean, cut, oneLine } from './text.ts';
import { aboutTool } from './title.ts';
import { declarations, FULL, newNames, startWriting, topType } from './type-writing.ts';

export { firstSentence } from './first-sentence.ts';
export { partSignature } from './full-signature.ts';
export { hasNestedArguments, parameterList } from './tool-parameters.ts';

/** The fields of a listed tool that rendering needs. */
export interface RenderableTool {
  name: string;
  title?: unknown;
  description?: unknown;
  inputSchema?: unknown;
  outputSchema?: unknown;
  annotations?: unknown;
}

export interface RenderOptions {
  /**
   * `full` renders everything, over several lines; `short` renders the signature and the first sentence on one line.
   */
  form: 'full' | 'short';
  /**
   * Maximum code points of a description: of the first sentence in the short form (default 160), of each one in the
   * full form (default unlimited).
   */
  maxDescription?: number;
  /** True if the full form has a line for a title that says more than the name and the description. */
  titled?: boolean;
  /** Returns the line that says how a part is shown that the full form leaves out; without it nothing is left out. */
  more?: (path: string) => string;
}

const SHORT_DESCRIPTION = 160;
const SHORT: TypeStyle = { layout: 'line', maxDepth: 2, maxEnum: 6 };
/** The type of a result in the short form, which shows it up to this many characters. */
const SHORT_RESULT: TypeStyle = { layout: 'line', maxDepth: 3, maxEnum: 6 };
const MAX_RESULT = 120;

/** Renders a tool for a model. Returns its JSON if that is shorter than the TypeScript. */
export function renderTool(tool: RenderableTool, options: RenderOptions): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  const json = () => JSON.stringify({ name, title, description, inputSchema, outputSchema, annotations });
  try {
    const text = options.form === 'short' ? shortForm(tool, options.maxDescription) : fullSignature(tool, options);
    return text.length <= json().length ? text : json();
  } catch {
    // The schema is too deep for the stack, or is not JSON: only the name is returned.
    return clean(name);
  }
}

/** Renders the type alone; types that it refers to by name follow on their own lines. */
export function renderType(schema: unknown): string {
  try {
    const writing = startWriting(schema, FULL, newNames());
    const type = writeType(schema, writing, TOP);
    return [type.text, ...declarations(writing)].join('\n');
  } catch {
    return 'unknown';
  }
}

function shortForm(tool: RenderableTool, maxDescription = SHORT_DESCRIPTION): string {
  const { name, inputSchema, outputSchema } = tool;
  const args = argumentsType(inputSchema, () => startWriting(inputSchema, SHORT, new Set()));
  const signature = `${oneLine(clean(name))}(${args})${shortResult(outputSchema)}`;
  const sentence = cut(firstSentence(aboutTool(tool)), maxDescription);
  return sentence === '' ? signature : `${signature} // ${sentence}`;
}

/** Returns the type of the result if it is small enough to select from it at once. */
function shortResult(schema: unknown): string {
  if (!isSchema(schema)) return '';
  const type = topType(schema, startWriting(schema, SHORT_RESULT, new Set()));
  return type.length <= MAX_RESULT && type.startsWith('{ ') ? `: ${type}` : '';
}
