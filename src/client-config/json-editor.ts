/** The editor of JSON and JSONC files. */
import { parseSource } from '../config/jsonc-file.ts';
import { removeAt } from '../config/remove.ts';
import { setValue } from '../config/set-value.ts';
import type { TextEditor } from './text-editor.ts';

export const jsonEditor: TextEditor = {
  // Several clients create an empty file and read it as an empty object.
  parse: (text, file) => (text.trim() === '' ? {} : parseSource(file, text).value),
  set: setValue,
  remove: removeAt,
};
