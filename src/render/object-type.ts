/** Renders an object as a TypeScript type: its properties with comments, and the keys that are not declared. */
import { isSchema, type Schema, schemasIn } from './schema-refs.ts';
import { descriptionOf, enumPiece, type Spot, type TypeStyle, type Writing, writeType } from './schema-type.ts';
import { commentText, withComment } from './type-comments.ts';
import { atom, intersection, type Piece, propertyKey, UNKNOWN, union } from './type-syntax.ts';

const MAX_LINE = 100;

interface Member {
  head: string;
  type: string;
  comment: string;
}

export function objectPiece(schema: Schema, writing: Writing, spot: Spot): Piece {
  const { properties, additionalProperties, required } = schema;
  const declared = isSchema(properties) ? Object.entries(properties) : [];
  const needed = new Set(Array.isArray(required) ? required.filter((key) => typeof key === 'string') : []);
  const missing = [...needed].filter((key) => !isSchema(properties) || !Object.hasOwn(properties, key));
  if (declared.length > 0 && spot.depth >= writing.style.maxDepth) return atom('object');
  const inner = { ...spot, indent: `${spot.indent}  `, depth: spot.depth + 1, bare: false };
  const rest = restPiece(schema, writing, inner);
  const members = [...declared, ...missing.map((key): [string, unknown] => [key, {}])].map(([key, property]) =>
    memberOf({ key, optional: !needed.has(key) }, property, writing, { ...inner, path: [...spot.path, key] }),
  );
  if (members.length === 0) return rest ?? atom(additionalProperties === false ? '{}' : 'object');
  const body = atom(writing.style.layout === 'line' ? inLine(members) : inBlock(members, spot.indent));
  return rest === undefined ? body : intersection([body, rest]);
}

function memberOf(
  { key, optional }: { key: string; optional: boolean },
  schema: unknown,
  writing: Writing,
  spot: Spot,
): Member {
  const head = `${propertyKey(key)}${optional ? '?' : ''}`;
  const { piece, folded } = optional
    ? optionalPiece(schema, writing, spot)
    : { piece: writeType(schema, writing, spot), folded: false };
  if (writing.style.layout === 'line') return { head, type: piece.text, comment: '' };
  const notes = folded ? ['folded'] : piece.notes;
  return { head, type: piece.text, comment: memberComment(schema, notes, writing, optional ? spot.path : undefined) };
}

/** Minimum characters of a description that is left out because the text around the type has it. */
const REPEATED = 20;

/** Returns the comment of a property; `path` is the path of an optional one, whose description may be cut. */
function memberComment(schema: unknown, notes: string[], writing: Writing, path: string[] | undefined): string {
  const { maxDescription, maxOptional = Number.POSITIVE_INFINITY, said = '' } = writing.style;
  const described = descriptionOf(schema, writing);
  if (typeof described !== 'string') return commentText('', notes);
  if (described.length >= REPEATED && said.includes(described.trim())) return commentText('', notes);
  if (path === undefined || described.length <= maxOptional) return commentText(described, notes, maxDescription);
  if (!notes.includes('folded')) writing.folded.push(pathOf(path));
  return commentText(described, notes, Math.min(maxOptional, maxDescription ?? maxOptional));
}

/** Renders an optional property; as `object` if it is long and long objects are folded. */
function optionalPiece(schema: unknown, writing: Writing, spot: Spot): { piece: Piece; folded: boolean } {
  const { fold = Number.POSITIVE_INFINITY } = writing.style;
  const [before, foldedBefore] = [writing.used.size, writing.folded.length];
  writing.optional += 1;
  const piece = writeType(schema, writing, spot);
  writing.optional -= 1;
  if (fold === Number.POSITIVE_INFINITY) return { piece, folded: false };
  const added = [...writing.used].slice(before);
  const size = added.reduce((sum, named) => sum + JSON.stringify(named).length, piece.text.length);
  if (size < fold || (added.length === 0 && !piece.text.includes('\n'))) return { piece, folded: false };
  for (const named of added) writing.used.delete(named);
  writing.folded.splice(foldedBefore, Number.POSITIVE_INFINITY, pathOf(spot.path));
  const style: TypeStyle = { ...writing.style, layout: 'line', maxDepth: spot.depth };
  const short = writeType(schema, { ...writing, style, names: new Map() }, spot);
  return { piece: { ...short, notes: [] }, folded: true };
}

/** Writes a path as a JSON pointer does, without the slash before it. */
function pathOf(keys: string[]): string {
  return keys.map((key) => key.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
}

/** Renders the keys that are not declared one by one; undefined if nothing is known about them. */
function restPiece(schema: Schema, writing: Writing, spot: Spot): Piece | undefined {
  const { patternProperties, additionalProperties, propertyNames } = schema;
  const patterns = isSchema(patternProperties) ? Object.entries(patternProperties) : [];
  const values = patterns.map(([, value]) => value);
  if (isSchema(additionalProperties) && Object.keys(additionalProperties).length > 0) values.push(additionalProperties);
  const keys = isSchema(propertyNames) ? schemasIn(propertyNames.enum).filter((key) => typeof key === 'string') : [];
  if (values.length === 0 && keys.length === 0) return undefined;
  const type = values.length === 0 ? UNKNOWN : union(values.map((value) => writeType(value, writing, spot)));
  const named = isSchema(propertyNames) && typeof propertyNames.pattern === 'string' ? [propertyNames.pattern] : [];
  const notes = [
    ...[...patterns.map(([pattern]) => pattern), ...named].map((pattern) => `keys /${pattern}/`),
    ...type.notes,
  ];
  if (keys.length > 0) return atom(`{ [key in ${enumPiece(keys, [], writing).text}]?: ${type.text} }`, notes);
  // A type alias cannot pass itself to Record, but can occur in an index signature.
  const record = writing.names.size > 0 ? `{ [key: string]: ${type.text} }` : `Record<string, ${type.text}>`;
  return atom(record, notes);
}

function inLine(members: Member[]): string {
  return `{ ${members.map(({ head, type }) => `${head}: ${type}`).join('; ')} }`;
}

function inBlock(members: Member[], indent: string): string {
  const line = inLine(members);
  const plain = members.every(({ comment, type }) => comment === '' && !type.includes('\n'));
  if (plain && line.length <= MAX_LINE) return line;
  const lines = members.map(({ head, type, comment }) => `${indent}  ${head}: ${withComment(type, comment)}`);
  return `{\n${lines.join('\n')}\n${indent}}`;
}
