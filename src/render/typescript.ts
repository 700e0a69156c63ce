/** Renders tools as TypeScript signatures, in a complete form and in a form of one line, for `inspect`. */

import { dereference, directParts, isSchema, namedSchemas, type Schema, schemasIn } from './schema-refs.ts';
import { descriptionOf, TOP, type TypeStyle, type Writing, withComment, writeType } from './schema-type.ts';
import { clean, cut, oneLine } from './text.ts';
import { aboutTool, addedTitle } from './title.ts';
import { effectsInWords } from './tool-hints.ts';
import { blockComment, commentText } from './type-comments.ts';

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
}

const SHORT_DESCRIPTION = 160;
const SHORT: TypeStyle = { layout: 'line', maxDepth: 2, maxEnum: 6 };
const FULL: TypeStyle = { layout: 'block', maxDepth: 24, maxEnum: 500 };
/** Maximum number of schemas written in one rendering. */
const BUDGET = { full: 20_000, short: 2_000 };
const MAX_PARAMETERS = 20;

/** Renders a tool for a model. Returns its JSON if that is shorter than the TypeScript. */
export function renderTool(tool: RenderableTool, { form, maxDescription, titled = false }: RenderOptions): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  const json = () => JSON.stringify({ name, title, description, inputSchema, outputSchema, annotations });
  try {
    const text = form === 'short' ? shortForm(tool, maxDescription) : fullForm(tool, maxDescription, titled);
    return text.length <= json().length ? text : json();
  } catch {
    // The schema is too deep for the stack, or is not JSON: only the name is returned.
    return clean(name);
  }
}

/** Renders the type alone; types that it refers to by name follow on their own lines. */
export function renderType(schema: unknown): string {
  try {
    const writing = startWriting(schema, FULL, new Set(RESERVED));
    const type = writeType(schema, writing, TOP);
    return [type.text, ...declarations(writing)].join('\n');
  } catch {
    return 'unknown';
  }
}

/** Names that a declaration must not shadow. */
const RESERVED = ['Record'];

function startWriting(root: unknown, style: TypeStyle, taken: Set<string>): Writing {
  const names = style.layout === 'line' ? new Map<Schema, string>() : namedSchemas(root, taken);
  const budget = style.layout === 'line' ? BUDGET.short : BUDGET.full;
  return { root, style, names, used: new Set(), open: new Set(), budget };
}

/** Returns `type Name = …` for every used name; rendering one may add further names. */
function declarations(writing: Writing): string[] {
  const lines: string[] = [];
  for (const schema of writing.used) {
    const type = writeType(schema, writing, TOP, schema);
    const comment = commentText(descriptionOf(schema, writing), type.notes, writing.style.maxDescription);
    lines.push(`type ${writing.names.get(schema)} = ${withComment(type.text, comment)}`);
  }
  return lines;
}

function fullForm(tool: RenderableTool, maxDescription: number | undefined, titled: boolean): string {
  const style = { ...FULL, maxDescription };
  const taken = new Set(RESERVED);
  const [input, output] = [tool.inputSchema, tool.outputSchema].map((root) => startWriting(root, style, taken)) as [
    Writing,
    Writing,
  ];
  const signature = signatureOf(tool, input, output);
  const about = tidy(aboutTool(tool));
  const added = titled ? addedTitle(tool) : '';
  const title = added === '' ? '' : `title: ${added}`;
  const description = maxDescription === undefined ? about : cut(about, maxDescription);
  return [signature, ...declarations(input), ...declarations(output), title, description, hints(tool.annotations)]
    .filter((part) => part !== '')
    .join('\n');
}

/** Returns a tool's effects as words; empty if they equal the defaults. */
function hints(annotations: unknown): string {
  if (!isSchema(annotations)) return '';
  const words = effectsInWords(annotations);
  return words.length === 0 ? '' : `(${words.join(', ')})`;
}

function shortForm(tool: RenderableTool, maxDescription = SHORT_DESCRIPTION): string {
  const { name, inputSchema } = tool;
  const args = argumentsType(inputSchema, () => startWriting(inputSchema, SHORT, new Set()));
  const signature = `${oneLine(clean(name))}(${args})`;
  const sentence = cut(firstSentence(aboutTool(tool)), maxDescription);
  return sentence === '' ? signature : `${signature} // ${sentence}`;
}

function signatureOf({ name, inputSchema, outputSchema }: RenderableTool, input: Writing, output: Writing): string {
  const optional = parameters(inputSchema).every((parameter) => !parameter.required);
  const type = argumentsType(inputSchema, () => input);
  const args = type === '' ? '' : `args${optional ? '?' : ''}: ${type}`;
  const result = isSchema(outputSchema) ? `: ${topType(outputSchema, output)}` : '';
  return `${oneLine(clean(name))}(${args})${result}`;
}

function topType(schema: unknown, writing: Writing): string {
  const { text, notes } = writeType(schema, writing, TOP);
  if (writing.style.layout === 'line') return text;
  const comment = commentText(descriptionOf(schema, writing), notes, writing.style.maxDescription);
  if (comment === '') return text;
  return text.includes('\n') ? withComment(text, comment) : `${text} ${blockComment(comment)}`;
}

/** Returns the type of the arguments; empty if there are none. */
function argumentsType(schema: unknown, writing: () => Writing): string {
  if (!takesNothing(schema)) return topType(schema, writing());
  return isUntold(schema) ? 'object' : '';
}

/** True for a schema without keywords about properties, which does not state that there are no arguments. */
function isUntold(schema: unknown): boolean {
  return isSchema(schema) && !['type', 'properties', 'additionalProperties'].some((keyword) => keyword in schema);
}

function takesNothing(schema: unknown): boolean {
  if (!isSchema(schema)) return true;
  const telling = [
    'properties',
    'required',
    'patternProperties',
    'propertyNames',
    'additionalProperties',
    '$ref',
    '$dynamicRef',
    'anyOf',
    'oneOf',
    'allOf',
    'then',
    'else',
    'enum',
    'const',
  ];
  return !telling.some((keyword) => {
    const value = schema[keyword];
    return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : typeof value === 'string';
  });
}

/**
 * Returns the names of a tool's parameters in order, with `?` for optional: "path, tail?". At most twenty; `…` if the
 * schema does not declare them.
 */
export function parameterList(schema: unknown): string {
  if (takesNothing(schema) && isUntold(schema)) return '…';
  const all = parameters(schema).map(({ name, required }) => `${oneLine(clean(name))}${required ? '' : '?'}`);
  return all.length > MAX_PARAMETERS ? [...all.slice(0, MAX_PARAMETERS), '…'].join(', ') : all.join(', ');
}

/** True if a required argument is an object or an array of objects; an example is then clearer than the signature. */
export function hasNestedArguments(schema: unknown): boolean {
  return parameters(schema).some(({ required, schema: property }) => required && isNested(schema, property, 0));
}

function isNested(root: unknown, schema: unknown, depth: number): boolean {
  const target = dereference(root, schema);
  if (!isSchema(target) || depth > 4) return false;
  const { properties, items, additionalProperties } = target;
  if (isSchema(properties) && Object.keys(properties).length > 0) return true;
  if (isSchema(additionalProperties) && Object.keys(additionalProperties).length > 0) return true;
  return [items, ...directParts(target)].some((part) => isNested(root, part, depth + 1));
}

interface Parameter {
  name: string;
  required: boolean;
  schema: unknown;
}

/**
 * Returns the properties of the top object and of the schemas that it is composed of; those of an alternative are never
 * required.
 */
function parameters(root: unknown): Parameter[] {
  const found = new Map<string, Parameter>();
  const collect = (schema: unknown, binding: 'certain' | 'alternative', depth: number) => {
    const target = dereference(root, schema);
    if (!isSchema(target) || depth > 4) return;
    const needed = new Set(binding === 'certain' ? schemasIn(target.required) : []);
    for (const [name, property] of isSchema(target.properties) ? Object.entries(target.properties) : []) {
      if (!found.has(name)) found.set(name, { name, required: false, schema: property });
    }
    for (const part of schemasIn(target.allOf)) collect(part, binding, depth + 1);
    for (const part of directParts(target)) collect(part, 'alternative', depth + 1);
    for (const parameter of found.values()) parameter.required ||= needed.has(parameter.name);
  };
  collect(root, 'certain', 0);
  return [...found.values()];
}

/** Matches abbreviations that look like the end of a sentence. */
const ABBREVIATION = /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|[A-Za-z])\.$/i;

/** Matches a short first line before a line that starts a new sentence: it is a title, not half a sentence. */
const TITLE_END = /^(.{1,60})\n(?=\s*[^\s\p{Ll}])/u;

/** Matches a short line that only introduces the following text: "Purpose:". */
const HEADING = /^[^\n]{0,40}:\s*\n\s*(?=\S)/;
/** Matches the introduction of the part that describes the tool's purpose. */
const PURPOSE = /^\P{L}*(?:purpose|description|summary|overview)\b[^\n]{0,20}:\s*\n/iu;

/**
 * Returns the first sentence of a description, on one line, without a heading, bullet, number or code fence before it.
 */
export function firstSentence(text: string): string {
  const parts = clean(text)
    .split(/\n\s*\n/)
    .map((part) => part.replace(/^\s*(?:#{1,6}\s+|[-*]\s+|```.*$)/gm, '').trim())
    .filter((part) => part !== '');
  const [first = ''] = parts;
  const chosen = HEADING.test(first) ? (parts.find((part) => PURPOSE.test(part)) ?? first) : first;
  const paragraph = chosen.replace(HEADING, '').replace(/^\d+[.)]\s+/, '');
  const line = oneLine(TITLE_END.exec(paragraph)?.[1] ?? paragraph);
  for (const match of line.matchAll(/[.!?](?=\s)|[。！？]/g)) {
    const sentence = line.slice(0, match.index + 1);
    if (!ABBREVIATION.test(sentence)) return sentence;
  }
  return line;
}

/** Returns a description without the indentation of its source code. */
function tidy(text: string): string {
  const lines = clean(text)
    .trim()
    .split('\n')
    .map((line) => line.trimEnd());
  const margins = lines
    .slice(1)
    .filter((line) => line !== '')
    .map((line) => line.length - line.trimStart().length);
  const margin = margins.length > 0 ? Math.min(...margins) : 0;
  return lines
    .map((line, index) => (index === 0 ? line : line.slice(margin)))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n');
}
