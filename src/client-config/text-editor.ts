/** The interface of the editors of JSON, TOML and YAML texts. Everything outside the edited entry stays byte for byte. */
import type { Path } from '../config/json-data.ts';

export type Format = 'json' | 'toml' | 'yaml';

/** One implementation per format. The text has no byte order mark and may have any line ends. */
export interface TextEditor {
  /** Returns the content as JSON data. Throws McpxError('config') with the position of a mistake. */
  parse(text: string, file: string): unknown;
  /** Replaces the value at the path, or adds it as the last entry of its map or list. */
  set(text: string, path: Path, value: unknown): string;
  /** Removes the entry at the path; comments of its neighbours stay. */
  remove(text: string, path: Path): string;
}

export type Change = { kind: 'set'; path: Path; value: unknown } | { kind: 'remove'; path: Path };
