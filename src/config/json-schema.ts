/** Builds the JSON Schema of the config file from the table of fields, for editors and `config schema`. */
import { DEFAULTS, SERVER_DEFAULTS } from './config.ts';
import type { Field, Fields } from './field-kinds.ts';
import { DOCUMENT, PROFILE, SERVER, TOKEN } from './fields.ts';
import { isRecord, type JsonRecord, own } from './json-data.ts';
import { CLIENT_KEYS, NOTES, serverSchema, shapeDefinitions, shapeProperties, when } from './shape-schema.ts';
import { DURATION_PATTERN, formatDuration, formatSize, SIZE_PATTERN } from './units.ts';

/** Returns the schema in draft-07, which every editor supports. It accepts every file shape that mcpx reads. */
export function jsonSchema(): JsonRecord {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'mcpx config',
    description:
      'MCP servers behind one gateway. A number is milliseconds or bytes where a duration or a size is wanted.',
    type: 'object',
    ...when({ $ref: '#/definitions/bareMap' }, { $ref: '#/definitions/servers' }, { $ref: '#/definitions/document' }),
    definitions: {
      document: documentSchema(),
      server: serverSchema(objectOf(SERVER, SERVER_DEFAULTS).properties),
      profile: objectOf(PROFILE, {}),
      token: schemaOf(TOKEN, undefined),
      ...shapeDefinitions(),
      duration: {
        anyOf: [
          { type: 'number', minimum: 0 },
          { type: 'string', pattern: DURATION_PATTERN },
        ],
      },
      size: {
        anyOf: [
          { type: 'integer', minimum: 0 },
          { type: 'string', pattern: SIZE_PATTERN },
        ],
      },
    },
  };
}

/** Describes a file with our own keys or with those of other clients. Unknown keys are mistakes, except in settings of other clients. */
function documentSchema(): JsonRecord {
  const { properties } = objectOf(DOCUMENT, { ...DEFAULTS, mcpServers: {}, profiles: {} });
  const all = { ...properties, ...shapeProperties((field) => schemaOf(field, undefined)) };
  const known = Object.fromEntries(Object.keys(all).map((key) => [key, true]));
  return {
    properties: all,
    if: { anyOf: CLIENT_KEYS.map((key) => ({ required: [key] })) },
    else: { properties: known, patternProperties: NOTES, additionalProperties: false },
  };
}

/** Returns the text of `mcpx.schema.json`. */
export function schemaText(): string {
  return `${JSON.stringify(jsonSchema(), null, 2)}\n`;
}

function objectOf(fields: Fields, defaults: unknown): JsonRecord & { properties: JsonRecord } {
  const properties = Object.entries(fields).map(([key, field]) => {
    return [key, schemaOf(field, isRecord(defaults) ? own(defaults, key) : undefined)];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    patternProperties: NOTES,
    additionalProperties: false,
  };
}

function schemaOf(field: Field, fallback: unknown): JsonRecord {
  const common = {
    ...(field.doc === undefined ? {} : { description: field.doc }),
    ...(fallback === undefined || field.kind === 'group' ? {} : { default: shownDefault(field, fallback) }),
  };
  const type = typeOf(field, fallback);
  if (field.nullable !== true) return { ...common, ...type };
  return { ...common, anyOf: [type, { type: 'null' }] };
}

function typeOf(field: Field, fallback: unknown): JsonRecord {
  switch (field.kind) {
    case 'string':
    case 'boolean':
      return { type: field.kind };
    case 'scalar':
      return { type: ['string', 'number', 'boolean'] };
    case 'integer':
      return { type: 'integer', minimum: field.min, ...(field.max === undefined ? {} : { maximum: field.max }) };
    case 'number':
      return { type: 'number', exclusiveMinimum: 0 };
    case 'duration':
    case 'size':
      // Draft-07 ignores siblings of $ref, and the description is one.
      return { allOf: [{ $ref: `#/definitions/${field.kind}` }] };
    case 'enum':
      return { enum: field.values };
    case 'enum-or-list':
      return { anyOf: [{ enum: field.values }, { type: 'array', items: { type: 'string' } }] };
    case 'list':
      return listOf(field.of === TOKEN ? { $ref: '#/definitions/token' } : typeOf(field.of, undefined), field.single);
    case 'map':
      return { type: 'object', additionalProperties: schemaOf(field.of, undefined) };
    case 'group':
      return {
        ...objectOf(field.fields, fallback),
        ...(field.required === undefined ? {} : { required: field.required }),
      };
    case 'open':
      return { type: 'object' };
    case 'servers':
      return { allOf: [{ $ref: '#/definitions/servers' }] };
    case 'profiles':
      return { type: 'object', patternProperties: NOTES, additionalProperties: { $ref: '#/definitions/profile' } };
  }
}

function listOf(items: JsonRecord, single: true | undefined): JsonRecord {
  const list = { type: 'array', items };
  return single === true ? { anyOf: [items, list] } : list;
}

/** Returns a default in the form in which a user writes it in the file. */
function shownDefault(field: Field, fallback: unknown): unknown {
  if (typeof fallback !== 'number') return fallback;
  if (field.kind === 'duration') return formatDuration(fallback);
  return field.kind === 'size' ? formatSize(fallback) : fallback;
}
