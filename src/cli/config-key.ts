/** Keys of the config as they are typed: segments with dots between them, in double quotes if they contain one. */
import type { JSONPath } from 'jsonc-parser';
import { isRecord } from '../config/json-data.ts';
import { McpxError } from '../errors.ts';

const SEGMENT = '(?:"(?:[^"\\\\]|\\\\.)*"|[^."]+)';
const KEY = new RegExp(`^${SEGMENT}(?:\\.${SEGMENT})*$`);

/** Turns `mcpServers."a.b".args.0` into a path. A number is an index where the data has a list. */
export function parseKey(key: string, data: unknown): JSONPath {
  if (!KEY.test(key)) throw new McpxError('usage', `"${key}" is not a key`, { hint: 'mcpx config set http.port 3096' });
  const segments = key.match(new RegExp(SEGMENT, 'g')) ?? [];
  let value = data;
  return segments.map((segment) => {
    const name = segment.startsWith('"') ? String(JSON.parse(segment)) : segment;
    const step = Array.isArray(value) && /^\d+$/.test(name) ? Number(name) : name;
    value = Array.isArray(value) ? value[Number(name)] : isRecord(value) ? value[name] : undefined;
    return step;
  });
}

export function formatKey(path: readonly (string | number)[]): string {
  return path.map((step) => (/^[^."]+$/.test(String(step)) ? String(step) : JSON.stringify(String(step)))).join('.');
}
