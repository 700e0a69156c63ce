/** Settings under the names of other clients and of older proxies, and those that are not converted. */
import type { Field } from './field-kinds.ts';
import type { Path } from './json-data.ts';

/** A setting under another client's name. */
export interface Renamed {
  path: Path;
  to: readonly [section: string, key: string];
  field: Field;
  /** A bare number is seconds. */
  seconds?: true;
  convert?: (value: unknown) => unknown;
}

const BOOLEAN: Field = { kind: 'boolean' };
const COUNT: Field = { kind: 'integer', min: 0 };

export const RENAMED: readonly Renamed[] = [
  {
    path: ['schema_compression_enabled'],
    to: ['compression', 'schema'],
    field: BOOLEAN,
    convert: (on) => (on === true ? 'typescript' : 'json'),
  },
  {
    path: ['toon_compression_enabled'],
    to: ['compression', 'toon'],
    field: BOOLEAN,
    convert: (on) => (on === true ? 'auto' : 'off'),
  },
  { path: ['toon_compression_min_size'], to: ['compression', 'toonMinSize'], field: COUNT },
  { path: ['max_description_len'], to: ['compression', 'maxDescription'], field: COUNT },
  { path: ['health_check_enabled'], to: ['health', 'enabled'], field: BOOLEAN },
  { path: ['health_check_interval'], to: ['health', 'interval'], field: { kind: 'duration', min: 1 }, seconds: true },
  { path: ['health_check_failure_threshold'], to: ['health', 'failures'], field: { kind: 'integer', min: 1 } },
  { path: ['server', 'host'], to: ['http', 'host'], field: { kind: 'string' } },
  { path: ['server', 'port'], to: ['http', 'port'], field: { kind: 'integer', min: 0, max: 65535 } },
  {
    path: ['mcp', 'resolutionStrategy'],
    to: ['naming', 'onConflict'],
    field: { kind: 'enum', values: ['first-wins', 'last-wins', 'error'] },
  },
];

/** Top-level keys of other clients' files that hold settings. */
export const RENAMED_KEYS: readonly string[] = [...new Set(RENAMED.map(({ path }) => String(path[0])))];

/** Keys of other clients' files that are not converted, with the text to write instead. */
export const NOT_CARRIED: readonly { path: Path; instead: string }[] = [
  { path: ['server', 'cors'], instead: '"http": {"cors": {"origins": ["https://…"]}}' },
  { path: ['logging'], instead: '"log": {"level": "info"}' },
  { path: ['cli'], instead: '"mcpServers": {"…": {"timeout": "30s"}}' },
];

export const DROPPED_KEYS: readonly string[] = NOT_CARRIED.filter(({ path }) => path.length === 1).map(({ path }) =>
  String(path[0]),
);
