/** The parts of the JSON Schema that describe files and server entries of other clients, as the reader accepts them. */
import { foreignNames, IGNORED, NOT_CARRIED } from './aliases.ts';
import type { Field } from './field-kinds.ts';
import { DROPPED_KEYS, RENAMED } from './foreign-settings.ts';
import type { JsonRecord } from './json-data.ts';
import { TYPES } from './server-target.ts';
import { FOREIGN_TYPES, MARKS } from './shapes.ts';

/** Keys that are comments, in objects of fields and in maps of names. `x-team` may be the name of a server. */
export const NOTES: JsonRecord = { '^(x-|_|//|\\$schema$)': {} };
const NOTE_NAME = '^(_|//|\\$schema$)';
const NOTES_AMONG_NAMES = { [NOTE_NAME]: {} };

const ref = (name: string): JsonRecord => ({ $ref: `#/definitions/${name}` });
const anyCase = (text: string): string => text.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
const typePattern = `^(${[...TYPES.keys()].map(anyCase).join('|')})$`;
const isList = { type: 'array' };
/** Builds `if`, `then`, `else` without an object literal that has `then`: the linter takes it for a promise. */
export const when = (test: JsonRecord, then: JsonRecord | undefined, otherwise?: JsonRecord): JsonRecord =>
  Object.fromEntries(
    [
      ['if', test],
      ['then', then],
      ['else', otherwise],
    ].filter(([, schema]) => schema !== undefined),
  );
const elsewhere = (doc: string, schema: JsonRecord = {}): JsonRecord => ({ description: doc, ...schema });

/** A server entry: our own fields, and the fields of other clients. Null counts as absent. */
export function serverSchema(fields: JsonRecord): JsonRecord {
  const targets = ['command', 'cmd', 'url', 'serverUrl', 'httpUrl', 'uri', 'baseUrl', 'module', 'builtin'];
  const nested = ['transport', 'config'].map((key) => ({ properties: { [key]: { type: 'object' } }, required: [key] }));
  const builtin = { properties: { type: { pattern: `^${anyCase('builtin')}$` } }, required: ['type'] };
  const off = [
    { properties: { disabled: { const: true } }, required: ['disabled'] },
    { properties: { enabled: { const: false } }, required: ['enabled'] },
  ];
  const accepted = Object.entries({ ...fields, ...foreignFields(fields) });
  return {
    type: 'object',
    properties: Object.fromEntries(accepted.map(([key, schema]) => [key, orNull(schema as JsonRecord)])),
    patternProperties: NOTES,
    additionalProperties: false,
    anyOf: [...targets.map((key) => ({ required: [key] })), ...nested, builtin, ...off],
  };
}

function orNull(schema: JsonRecord): JsonRecord {
  const { description, default: fallback, ...type } = schema;
  const common = {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
  };
  if (Object.keys(type).length === 0) return common;
  if (typeof type.type === 'string' && Object.keys(type).length === 1) return { ...common, type: [type.type, 'null'] };
  return { ...common, anyOf: [type, { type: 'null' }] };
}

/** Fields under the names of other clients, and our own fields in the forms of other clients. */
function foreignFields(own: JsonRecord): JsonRecord {
  const bare = (key: string): JsonRecord => {
    const { description: _description, default: _default, ...schema } = own[key] as JsonRecord;
    return schema;
  };
  const either = (key: string, ...others: JsonRecord[]) =>
    elsewhere(String((own[key] as JsonRecord).description), { anyOf: [bare(key), ...others] });
  const typeText = { type: 'string', pattern: typePattern };
  const renamed = foreignNames().map(([alias, field]) => {
    const [outer = field, inner] = field.split('.');
    const target = own[outer] as JsonRecord;
    const schema = inner === undefined ? bare(outer) : withoutDoc((target.properties as JsonRecord)[inner]);
    return [alias, elsewhere(`Another name of "${field}".`, schema)];
  });
  return {
    ...Object.fromEntries(renamed),
    ...Object.fromEntries([...IGNORED].map((key) => [key, elsewhere('Has no effect.')])),
    ...Object.fromEntries([...NOT_CARRIED].map(([key, why]) => [key, elsewhere(`Has no effect: ${why}.`)])),
    enabled: elsewhere('The opposite of "disabled".', { type: 'boolean' }),
    type: either('type', typeText),
    transportType: elsewhere('Another name of "type".', typeText),
    protocol: elsewhere('Another name of "type".', typeText),
    transport: elsewhere('Another name of "type", or an object with the fields of the connection.', {
      anyOf: [typeText, { type: 'object' }],
    }),
    command: either('command', { ...isList, items: { type: ['string', 'number', 'boolean'] } }, { type: 'object' }),
    timeout: either('timeout', { type: 'object' }),
    tools: either('tools', isList),
    auth: elsewhere('Another name of "oauth".', { anyOf: [{ type: 'object' }, { type: 'string' }] }),
    ...Object.fromEntries(UNFOLDED.map((key) => [key, elsewhere('A field of another client.')])),
  };
}

/** Fields of other clients of which the reader takes what it understands. It warns about the rest. */
const UNFOLDED = [
  ...['config', 'available_tools', 'requestOptions', 'env_vars', 'env_keys', 'env_http_headers'],
  ...['bearer_token_env_var', 'bearer_token_env', 'bearerTokenEnv', 'bearerToken'],
];

function withoutDoc(schema: unknown): JsonRecord {
  const { description: _description, default: _default, ...rest } = schema as JsonRecord;
  return rest;
}

/** Definitions that the schemas of files refer to. */
export function shapeDefinitions(): JsonRecord {
  const mapOf = (entry: JsonRecord) => ({
    type: 'object',
    patternProperties: NOTES_AMONG_NAMES,
    additionalProperties: entry,
  });
  const isServer = ref('looksLikeServer');
  return {
    servers: when(
      isList,
      { ...isList, items: { allOf: [ref('server'), { anyOf: [{ required: ['name'] }, { required: ['id'] }] }] } },
      mapOf(ref('server')),
    ),
    /** Entries of clients that keep other things under the same key: only what looks like a server is checked. */
    someServers: mapOf(when(ref('foreignEntry'), undefined, when(isServer, ref('server')))),
    foreignEntry: {
      anyOf: ['type', 'source'].map((key) => ({ properties: { [key]: { enum: FOREIGN_TYPES } }, required: [key] })),
    },
    looksLikeServer: {
      type: 'object',
      anyOf: [
        ...MARKS.map((mark) => ({ properties: { [mark]: { not: isServer } }, required: [mark] })),
        { properties: { type: { type: 'string', pattern: typePattern } }, required: ['type'] },
      ],
    },
    bareMap: {
      type: 'object',
      not: { propertyNames: { pattern: NOTE_NAME } },
      patternProperties: NOTES_AMONG_NAMES,
      additionalProperties: isServer,
    },
    mcp: when(
      { type: 'object' },
      {
        properties: {
          enabled: {},
          servers: ref('servers'),
          allowed: isList,
          excluded: isList,
          serverCommand: {},
          inputs: {},
          resolutionStrategy: { enum: ['first-wins', 'last-wins', 'error'] },
        },
        patternProperties: NOTES_AMONG_NAMES,
        additionalProperties: ref('server'),
      },
      ref('servers'),
    ),
  };
}

/** Top-level keys of other clients' files, with their schemas. */
export function shapeProperties(schemaOf: (field: Field) => JsonRecord): JsonRecord {
  const inside = (outer: string) => RENAMED.filter(({ path }) => path.length === 2 && path[0] === outer);
  const flat = RENAMED.filter(({ path }) => path.length === 1).map(({ path, field }) => [path[0], schemaOf(field)]);
  const server = inside('server').map(({ path, field }) => [path[1], schemaOf(field)]);
  return {
    $schema: { type: 'string' },
    servers: elsewhere('Servers, as a map (VS Code) or as a list with "id".', ref('servers')),
    mcp_servers: elsewhere('Servers, as a map (Codex) or as a list with "name".', ref('servers')),
    mcp: elsewhere('Servers of OpenCode, or settings of Gemini CLI.', { allOf: [ref('mcp')] }),
    context_servers: elsewhere('Servers of Zed.', { allOf: [ref('someServers')] }),
    'amp.mcpServers': elsewhere('Servers of Amp.', { allOf: [ref('servers')] }),
    extensions: elsewhere('Servers of Goose.', when({ type: 'object' }, ref('someServers'))),
    schemas: elsewhere('Another name of "profiles".', {
      type: 'object',
      patternProperties: NOTES_AMONG_NAMES,
      additionalProperties: ref('profile'),
    }),
    inputs: elsewhere('Inputs of VS Code; their values are variables named MCPX_INPUT_….'),
    server: elsewhere('Another form of "http".', { type: 'object', properties: Object.fromEntries(server) }),
    ...Object.fromEntries(flat),
    ...Object.fromEntries(DROPPED_KEYS.map((key) => [key, elsewhere('Has no effect.')])),
  };
}

/** Keys that only whole settings files of other clients have. In such a file, other keys are not mistakes. */
export const CLIENT_KEYS = ['context_servers', 'mcp', 'amp.mcpServers', 'extensions', 'mcp_servers', 'projects'];
