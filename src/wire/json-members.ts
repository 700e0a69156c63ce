/** Finds the members of a JSON object in its text without parsing the values. */

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BACKSLASH = 92;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Returns each key with the text of its value. Never throws; the result for invalid JSON is unspecified. */
export function membersOf(text: string): [string, string][] {
  const found: [string, string][] = [];
  const { length } = text;
  let depth = 0;
  let begin = 0;
  let key: string | undefined;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (++depth === 1) begin = at + 1;
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1;
    else if (depth !== 1) continue;
    else if (code === COLON && key === undefined) {
      key = keyIn(text.slice(begin, at));
      begin = at + 1;
      continue;
    }
    const isOver = (code === COMMA && depth === 1) || (code === CLOSE_OBJECT && depth === 0);
    if (!isOver || key === undefined) continue;
    found.push([key, text.slice(begin, at).trim()]);
    key = undefined;
    begin = at + 1;
  }
  return found;
}

function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
  }
  return text.length;
}

function keyIn(json: string): string | undefined {
  try {
    const key: unknown = JSON.parse(json);
    return typeof key === 'string' ? key : undefined;
  } catch {
    return undefined;
  }
}
