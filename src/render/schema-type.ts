/** Renders a JSON Schema as a TypeScript type. Unknown and broken constructs become `unknown`; recursion is bounded. */

import { objectPiece } from './object-type.ts';
import { directParts, isSchema, refOf, resolveRef, type Schema, schemasIn } from './schema-refs.ts';
import { blockComment, commentText, notesOf } from './type-comments.ts';
import { atom, intersection, literal, operand, type Piece, UNKNOWN, union } from './type-syntax.ts';

export interface TypeStyle {
  /**
   * `block` puts each property with a comment on its own line; `line` puts everything on one line, without comments.
   */
  layout: 'block' | 'line';
  /** Number of object levels shown; deeper objects are rendered as `object`. */
  maxDepth: number;
  /** Number of enum values shown; the rest is only counted. */
  maxEnum: number;
  /** Maximum code points of a property's description; unlimited if absent. */
  maxDescription?: number | undefined;
  /** Maximum code points of the description of an optional property; unlimited if absent. */
  maxOptional?: number | undefined;
  /** Descriptions that this text contains are left out. */
  said?: string;
  /** Optional properties whose object takes at least this many characters are written as `object`. */
  fold?: number | undefined;
}

/** The state of rendering one schema document. */
export interface Writing {
  root: unknown;
  style: TypeStyle;
  /** Schemas that are rendered as a name. */
  names: ReadonlyMap<Schema, string>;
  /** The references to those schemas. */
  refs: ReadonlyMap<Schema, string>;
  /** Schemas whose name was written, in order; `needed` has those that a required part uses. */
  used: Set<Schema>;
  needed: Set<Schema>;
  /** Number of optional properties around the current one. */
  optional: number;
  /** Paths of the parts that were folded, or whose description was cut. */
  folded: string[];
  /** Schemas that are being rendered now; a schema that occurs inside itself is a cycle. */
  open: Set<Schema>;
  /** Number of schemas that may still be rendered, which limits fan-out. */
  budget: number;
}

/** The position of a piece; `bare` is true until an object or an array lies between a named type and the piece. */
export interface Spot {
  indent: string;
  depth: number;
  level: number;
  bare: boolean;
  /** Names of the properties around it. */
  path: string[];
}

export const TOP: Spot = { indent: '', depth: 0, level: 0, bare: true, path: [] };

const MAX_LEVEL = 64;

/**
 * Renders the type of `schema`; `declaring` is the schema that is being declared, so it is written out instead of its
 * name.
 */
export function writeType(schema: unknown, writing: Writing, spot: Spot, declaring?: Schema): Piece {
  if (schema === false) return atom('never');
  if (!isSchema(schema)) return UNKNOWN;
  const name = writing.names.get(schema);
  if (name !== undefined && schema !== declaring) return namedPiece(schema, name, writing, spot);
  writing.budget -= 1;
  if (writing.budget < 0 || spot.level > MAX_LEVEL) return UNKNOWN;
  if (writing.open.has(schema)) return isSchema(schema.properties) ? atom('object') : UNKNOWN;
  writing.open.add(schema);
  const piece = wholePiece(schema, writing, { ...spot, level: spot.level + 1 });
  writing.open.delete(schema);
  return piece;
}

function wholePiece(schema: Schema, writing: Writing, spot: Spot): Piece {
  const { anyOf, oneOf, allOf, nullable } = schema;
  const ref = refOf(schema);
  const piece = intersection([
    ref === undefined ? UNKNOWN : writeType(resolveRef(writing.root, ref), writing, spot),
    ownPiece(schema, writing, spot),
    union(schemasIn(anyOf).map((branch) => branchPiece(branch, schema, writing, spot))),
    union(schemasIn(oneOf).map((branch) => branchPiece(branch, schema, writing, spot))),
    ...schemasIn(allOf).map((part) => writeType(part, writing, spot)),
    conditionPiece(schema, writing, spot),
  ]);
  return nullable === true ? union([piece, atom('null')]) : piece;
}

function namedPiece(schema: Schema, name: string, writing: Writing, { bare }: Spot): Piece {
  if (bare && isOwnPart(schema, writing.root)) return UNKNOWN;
  writing.used.add(schema);
  if (writing.optional === 0) writing.needed.add(schema);
  return atom(name);
}

/** True for `A = A | string`: TypeScript allows a cycle only through an object or an array. */
function isOwnPart(schema: Schema, root: unknown): boolean {
  const seen = new Set<unknown>();
  const reaches = (value: unknown): boolean => {
    if (value === schema && seen.size > 0) return true;
    if (!isSchema(value) || seen.has(value)) return false;
    seen.add(value);
    const ref = refOf(value);
    return [...directParts(value), ...(ref === undefined ? [] : [resolveRef(root, ref)])].some(reaches);
  };
  return reaches(schema);
}

/**
 * Renders an alternative with its description as an inline comment, unless the union already shows that description.
 */
function branchPiece(branch: unknown, whole: Schema, writing: Writing, spot: Spot): Piece {
  const piece = writeType(branch, writing, spot);
  const { layout, maxDescription } = writing.style;
  if (layout === 'line' || piece.text === 'unknown' || branch === onlyDescribed(whole)) return piece;
  const about = blockComment(commentText(descriptionOf(branch, writing), [], maxDescription));
  if (about === '' || descriptionOf(branch, writing) === whole.description) return piece;
  return piece.text.startsWith('{\n')
    ? { ...piece, text: `{ ${about}${piece.text.slice(1)}` }
    : { ...piece, text: `${piece.text} ${about}` };
}

/** Renders `if` … `then` … `else` as two alternatives; a single branch becomes that branch or any object. */
function conditionPiece(schema: Schema, writing: Writing, spot: Spot): Piece {
  const { if: condition, then, else: otherwise } = schema;
  const branches = [then, otherwise].filter((branch) => branch !== undefined);
  if (condition === undefined || branches.length === 0) return UNKNOWN;
  const pieces = branches.map((branch) => writeType(branch, writing, spot));
  if (pieces.length === 2) return union(pieces);
  return pieces[0]?.text.startsWith('{') ? union([...pieces, atom('object')]) : UNKNOWN;
}

function ownPiece(schema: Schema, writing: Writing, spot: Spot): Piece {
  const notes = writing.style.layout === 'block' ? notesOf(schema) : [];
  if ('const' in schema) return atom(literal(schema.const));
  // An empty enum would allow no value at all, which is never intended, so it is ignored.
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return enumPiece(schema.enum, notes, writing);
  const types = Array.isArray(schema.type) ? schema.type : [schema.type ?? impliedType(schema)];
  const piece = union(types.map((type) => WRITERS.get(type)?.(schema, writing, spot) ?? UNKNOWN));
  return { ...piece, notes: [...notes, ...piece.notes] };
}

function impliedType(schema: Schema): string {
  const { properties, additionalProperties, patternProperties, required, items, prefixItems } = schema;
  if ([properties, additionalProperties, patternProperties].some(isSchema)) return 'object';
  if (Array.isArray(required) && required.length > 0) return 'object';
  return items !== undefined || prefixItems !== undefined ? 'array' : 'unknown';
}

const WRITERS: ReadonlyMap<unknown, (schema: Schema, writing: Writing, spot: Spot) => Piece> = new Map([
  ['string', () => atom('string')],
  ['number', () => atom('number')],
  ['integer', () => atom('number')],
  ['boolean', () => atom('boolean')],
  ['null', () => atom('null')],
  ['object', objectPiece],
  ['array', arrayPiece],
]);

export function enumPiece(values: unknown[], notes: string[], { style }: Writing): Piece {
  const shown = [...new Set(values.map(literal))];
  const kept = shown.slice(0, style.maxEnum);
  const more = shown.length > kept.length ? ` /* +${shown.length - kept.length} more */` : '';
  const useful = notes.filter((note) => note.startsWith('default ') || note === 'deprecated');
  return { text: kept.join('|') + more, level: kept.length > 1 ? 'union' : 'atom', notes: useful };
}

function arrayPiece(schema: Schema, writing: Writing, spot: Spot): Piece {
  const inner = { ...spot, bare: false };
  const { items, prefixItems, additionalItems, minItems } = schema;
  const tuple = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
  if (tuple === undefined) {
    const item = writeType(items, writing, inner);
    const about =
      writing.style.layout === 'block' && isSchema(items) ? commentText(descriptionOf(items, writing), item.notes) : '';
    return atom(`${operand(item)}[]`, about === '' ? [] : [`each: ${about}`]);
  }
  const least = typeof minItems === 'number' ? minItems : tuple.length;
  const parts = tuple.map((item, index) => {
    const piece = writeType(item, writing, inner);
    return index < least ? piece.text : `${operand(piece)}?`;
  });
  const rest = Array.isArray(prefixItems) ? items : additionalItems;
  if (rest === true || isSchema(rest)) parts.push(`...${operand(writeType(rest, writing, inner))}[]`);
  return atom(`[${parts.join(', ')}]`);
}

/**
 * Returns the description of a schema, else that of its only described alternative, else that of a referenced schema
 * that is written out here.
 */
export function descriptionOf(schema: unknown, { root, names }: Pick<Writing, 'root' | 'names'>): unknown {
  if (!isSchema(schema)) return undefined;
  if (schema.description !== undefined) return schema.description;
  const target = onlyDescribed(schema) ?? resolveRef(root, refOf(schema));
  return isSchema(target) && !names.has(target) ? target.description : undefined;
}

function onlyDescribed(schema: Schema): unknown {
  if (schema.description !== undefined) return undefined;
  const described = directParts(schema).filter((part) => isSchema(part) && part.description !== undefined);
  return described.length === 1 ? described[0] : undefined;
}
