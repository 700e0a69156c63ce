/** Rewrites parts of a client's entry that mean something else in mcpx, before the entry is read. */
import { isRecord, type JsonRecord, own } from '../config/json-data.ts';
import { type ClientId, rowOf } from './client-table.ts';

export interface Adapted {
  value: JsonRecord;
  notes: string[];
}

export function adaptEntry(entry: JsonRecord, { client }: { client?: ClientId }): Adapted {
  const dialect = client === undefined ? {} : (rowOf(client).dialect ?? {});
  const notes: string[] = [];
  let value = mapTexts(entry, (text) =>
    text.replace(/\$\{\{\s*(?:secrets|inputs)\.([\w.-]+)\s*\}\}/g, (_, name: string) => {
      const variable = name.replace(/\W/g, '_');
      notes.push(`the secret "${name}" of the client is now the variable ${variable}, which has to be set`);
      return `\${${variable}}`;
    }),
  );
  const timeout = own(value, 'timeout');
  if (dialect.seconds === true && typeof timeout === 'number') value = { ...value, timeout: timeout * 1000 };
  if (dialect.bareUrl !== undefined && typeof own(value, 'url') === 'string' && isUntyped(value))
    value = { ...value, type: dialect.bareUrl };
  const env = own(value, 'env');
  if (dialect.dollar === true && isRecord(env)) value = { ...value, env: mapTexts(env, withBraces) };
  return { value, notes };
}

function isUntyped(entry: JsonRecord): boolean {
  return ['type', 'transport', 'transportType', 'protocol'].every((key) => own(entry, key) === undefined);
}

/** Turns `$VAR` and `%VAR%` into `${VAR}`. */
function withBraces(text: string): string {
  return text.replace(
    /\$([A-Za-z_]\w*)|%([A-Za-z_]\w*)%/g,
    (_, unix?: string, windows?: string) => `\${${unix ?? windows}}`,
  );
}

function mapTexts(record: JsonRecord, change: (text: string) => string): JsonRecord {
  const deep = (value: unknown): unknown => {
    if (typeof value === 'string') return change(value);
    if (Array.isArray(value)) return value.map(deep);
    return isRecord(value) ? mapTexts(value, change) : value;
  };
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, deep(value)]));
}
