/** The complete signature of a tool; a long one is folded, so that it never takes more tokens than the tool's JSON. */
import { tidy } from './first-sentence.ts';
import { schemaAt } from './schema-path.ts';
import { isSchema } from './schema-refs.ts';
import type { TypeStyle, Writing } from './schema-type.ts';
import { clean, cut, oneLine } from './text.ts';
import { aboutTool, addedTitle } from './title.ts';
import { estimateTokens } from './token-estimate.ts';
import { effectsInWords } from './tool-hints.ts';
import { isUntold, parameters, takesNothing } from './tool-parameters.ts';
import { declarations, FULL, newNames, startWriting, topType } from './type-writing.ts';
import type { RenderableTool, RenderOptions } from './typescript.ts';

/** Estimated tokens above which nested optional objects are folded. */
const LONG = 600;
/** Least characters of an object that is folded; the next one is tried while the signature is too long. */
const FOLDS = [2_000, 800, 300, 200];
/** Share of the tokens of the tool's JSON above which descriptions of optional parameters are cut, to one length after the other. */
const GOOD = 0.7;
const CUTS = [240, 160, 120];
/** Maximum estimated tokens of the type of a result. */
const MAX_RESULT = 120;
/** Share of the tokens of the tool's JSON that a signature with a result may take; estimates are a few percent off. */
const LIKE_JSON = 0.9;
/** On one line, without comments; deeper parts are cut, which hardly any result has. */
const LINE: TypeStyle = { layout: 'line', maxDepth: 6, maxEnum: 12 };
/** The forms of a result, from the longest to the shortest. */
const RESULTS: TypeStyle[] = [
  FULL,
  LINE,
  { layout: 'line', maxDepth: 3, maxEnum: 6 },
  { layout: 'line', maxDepth: 2, maxEnum: 6 },
  { layout: 'line', maxDepth: 1, maxEnum: 3 },
];
/** The path of the result's type, beside the paths of parameters. */
const RESULT_PATH = 'outputSchema';

type Options = Pick<RenderOptions, 'maxDescription' | 'titled' | 'more'>;

interface Shape {
  fold?: number;
  maxOptional?: number;
  /** The form of the result's type; absent leaves it out. */
  result?: TypeStyle;
  /** True if that form leaves out parts of the type. */
  isCut?: boolean;
}

export function fullSignature(tool: RenderableTool, options: Options): string {
  if (options.more === undefined) return compose(tool, options, { result: FULL }).text;
  const { name, description, inputSchema, outputSchema } = tool;
  const json = estimateTokens(JSON.stringify({ name, description, inputSchema }));
  let best = compose(tool, options, {});
  const attempt = (shape: Shape) => {
    const next = compose(tool, options, { ...best.shape, ...shape });
    if (next.tokens < best.tokens) best = next;
  };
  for (const fold of FOLDS) if (best.tokens > LONG) attempt({ fold });
  for (const maxOptional of CUTS) if (best.tokens > GOOD * json) attempt({ maxOptional });
  return isSchema(outputSchema) ? withResult(tool, options, { best, json }) : best.text;
}

interface Composed {
  text: string;
  tokens: number;
  shape: Shape;
}

/** Adds the longest form of the result that has room; a call can be written without it. */
function withResult(tool: RenderableTool, options: Options, { best, json }: { best: Composed; json: number }): string {
  const { outputSchema } = tool;
  const typeIn = (style: TypeStyle) => topType(outputSchema, startWriting(outputSchema, style, newNames()));
  const entire = typeIn(LINE);
  for (const result of RESULTS) {
    const type = typeIn(result);
    if (estimateTokens(type) > MAX_RESULT) continue;
    const whole = compose(tool, options, { ...best.shape, result, isCut: result !== FULL && type !== entire });
    if (whole.tokens <= LIKE_JSON * json) return whole.text;
  }
  if (best.tokens <= LIKE_JSON * json) return best.text;
  return compose({ ...tool, outputSchema: undefined }, options, best.shape).text;
}

function compose(tool: RenderableTool, { maxDescription, titled = false, more }: Options, shape: Shape): Composed {
  const { name, inputSchema, outputSchema, annotations } = tool;
  const about = tidy(aboutTool(tool));
  const taken = newNames();
  const style = { ...FULL, maxDescription, said: about, fold: shape.fold, maxOptional: shape.maxOptional };
  const input = startWriting(inputSchema, style, taken);
  const output = startWriting(outputSchema, { ...(shape.result ?? FULL), maxDescription }, taken);
  const optional = parameters(inputSchema).every((parameter) => !parameter.required);
  const type = argumentsType(inputSchema, () => input);
  const args = type === '' ? '' : `args${optional ? '?' : ''}: ${type}`;
  const result = shape.result === undefined || !isSchema(outputSchema) ? '' : `: ${topType(outputSchema, output)}`;
  const added = titled ? addedTitle(tool) : '';
  const isShortened = isSchema(outputSchema) && (shape.result === undefined || shape.isCut === true);
  const lines = [
    `${oneLine(clean(name))}(${args})${result}`,
    ...declarations(input),
    ...declarations(output),
    added === '' ? '' : `title: ${added}`,
    maxDescription === undefined ? about : cut(about, maxDescription),
    hints(annotations),
  ];
  const [first = isShortened ? RESULT_PATH : undefined] = input.folded;
  if (first !== undefined && more !== undefined) lines.push(more(`#/${first}`));
  const text = lines.filter((line) => line !== '').join('\n');
  return { text, tokens: estimateTokens(text), shape };
}

/** Returns a tool's effects as words; empty if they equal the defaults. */
function hints(annotations: unknown): string {
  if (!isSchema(annotations)) return '';
  const words = effectsInWords(annotations);
  return words.length === 0 ? '' : `(${words.join(', ')})`;
}

/** Returns the type of the arguments; empty if there are none. */
export function argumentsType(schema: unknown, writing: () => Writing): string {
  if (!takesNothing(schema)) return topType(schema, writing());
  return isUntold(schema) ? 'object' : '';
}

/** Returns the type at this path of the parameters, or of `outputSchema`; undefined if the tool has no such part. */
export function partSignature(tool: RenderableTool, path: string): { text: string; schema: unknown } | undefined {
  const found = schemaAt(tool, path);
  if (found === undefined) return undefined;
  const writing = startWriting(found.root, FULL, newNames());
  const type = topType(found.schema, writing);
  return { text: [type, ...declarations(writing)].join('\n'), schema: found.schema };
}
