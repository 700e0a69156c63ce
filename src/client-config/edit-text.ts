/** Applies changes to the text of a file in any format, and refuses a result that would differ from the plan. */
import { isRecord, type JsonRecord, own, sameJson } from '../config/json-data.ts';
import { McpxError } from '../errors.ts';
import type { Change, Format, TextEditor } from './text-editor.ts';

/** Loads the editor of a format; TOML and YAML need a parser that no other part of mcpx uses. */
export async function loadEditor(format: Format): Promise<TextEditor> {
  if (format === 'toml') return (await import('./toml-editor.ts')).tomlEditor;
  if (format === 'yaml') return (await import('./yaml-editor.ts')).yamlEditor;
  return (await import('./json-editor.ts')).jsonEditor;
}

/**
 * Applies changes one after the other, and compares the content of the result with the expected content. A file that
 * an editor does not understand is refused and never damaged.
 */
export function editText(
  editor: TextEditor,
  text: string,
  { file, changes }: { file: string; changes: Change[] },
): string {
  const expected = changes.reduce<unknown>(changed, editor.parse(text, file) ?? {});
  const edited = changes.reduce(
    (rest, change) =>
      change.kind === 'set' ? editor.set(rest, change.path, change.value) : editor.remove(rest, change.path),
    text,
  );
  if (sameJson(parsedOrNothing(editor, edited, file), expected)) return edited;
  throw new McpxError('failed', `"${file}" is written in a way that mcpx cannot edit safely, so it was not changed`, {
    hint: 'edit it by hand: mcpx setup --print shows the entry',
  });
}

function parsedOrNothing(editor: TextEditor, text: string, file: string): unknown {
  try {
    return editor.parse(text, file) ?? {};
  } catch {
    return undefined;
  }
}

/** Returns a copy of the data with one change. */
function changed(data: unknown, { path: [key, ...rest], ...change }: Change): unknown {
  if (key === undefined) return change.kind === 'set' ? change.value : undefined;
  const at = rest.length === 0 && change.kind === 'remove';
  if (Array.isArray(data)) {
    if (at) return data.filter((_, index) => index !== key);
    const copy = [...data];
    copy[Number(key)] = changed(copy[Number(key)], { ...change, path: rest } as Change);
    return copy;
  }
  const record: JsonRecord = isRecord(data) ? data : {};
  const inner = changed(own(record, String(key)), { ...change, path: rest } as Change);
  const others = Object.entries(record).filter(([name]) => name !== String(key));
  const isGone = at || (change.kind === 'remove' && !Object.hasOwn(record, key));
  return Object.fromEntries(isGone ? others : [...others, [key, inner]]);
}
